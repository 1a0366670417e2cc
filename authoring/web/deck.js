// Lays the blocks of each section out on as few slides as they fit on, and starts reveal.js.
// A picture has a slide of its own, and is drawn when it is first seen. A listing gets smaller type, down to
// a limit, before it is parted: then between definitions, or where it is least indented, and what it is in
// the middle of is repeated. What follows a question's answer is seen with the answer.

(() => {
  const HEIGHT = 720, WIDTH = 1216, SMALLEST_PX = 19, CODE_PX = 26, OUT_PX = 24, PROSE_PX = [29, 27, 25];
  // A picture is shown at least so many times as large as its own pixels are, which makes its smallest type
  // (--lm-least-type in deck.css) one of 16 pixels; only where it fits no other way it is smaller.
  const MOST_TIMES = 2, LEAST_TIMES = 4 / 3, LAST_TIMES = 0.6;
  const source = document.getElementById("source"), slides = document.querySelector(".slides");
  const ruler = make("div", { class: "ruler" }, document.querySelector(".reveal"));

  function make(name, attributes = {}, parent = null, text = null) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== null) node.textContent = text;
    parent?.append(node);
    return node;
  }

  // Formulas: in the speaker's view, which has no fonts of ours, as MathML.
  const delimiters = [{ left: "$$", right: "$$", display: true }, { left: "$", right: "$", display: false }];
  for (const section of source.children) {
    for (const child of section.children) {
      const output = child.matches("aside.notes") ? "mathml" : "html";
      renderMathInElement(child, { delimiters, output, throwOnError: false, ignoredTags: ["script", "pre", "code"] });
    }
  }

  // Pages of one section ------------------------------------------------------------------------
  function layOut(section, prose) {
    const pages = [], notes = section.querySelector("aside.notes"), blocks = [];
    for (const child of section.children) {
      if (child === notes) continue;
      if (child.dataset.kind === "text") blocks.push(...child.children);
      else blocks.push(child);
    }
    let page = null, isClosed = true, heading = null, isNew = false, isAsked = false;

    function open() {
      page = make("section", { class: "page measured", style: `font-size: ${prose}px` }, ruler);
      if (isNew) page.append(heading.cloneNode(true));
      else if (heading) make("p", { class: "again" }, page).innerHTML = heading.innerHTML;
      isNew = false;
      page.top = page.childElementCount;
      pages.push(page);
      isClosed = isAsked = false;
    }
    const fits = () => page.offsetHeight <= HEIGHT && page.scrollWidth <= 1280;
    const isEmpty = () => page.childElementCount === page.top;
    // What does not fit begins a slide, and takes along the line that announces it, or its question.
    function turn(block) {
      const last = page.lastElementChild, isFirst = page.childElementCount === page.top + 1;
      const announces = last.matches("h3") || (last.matches("p") && (block.matches("details") || last.textContent.trim().endsWith(":")));
      if (announces && isFirst) return;
      open();
      if (announces) page.append(last);
    }
    // A heading begins a slide; that of a part shares it with the first of its sections.
    function head(block) {
      if (isNew) { open(); page.append(block); page.top += 1; } else { isNew = true; isClosed = true; }
      heading = block;
    }

    function pour(block) {
      if (block.matches(".cell")) return pourCell(block);
      if (block.matches('[data-kind="picture"], [data-kind="image"]')) return alone(block);
      if (isClosed) open();
      page.append(block);
      if (fits()) return;
      block.remove();
      if (!isEmpty()) { turn(block); page.append(block); if (fits()) return; block.remove(); }
      const pre = block.querySelector(":scope > pre");
      page.append(block);
      if (pre && squeeze([pre])) return;
      if (pre?.querySelector(":scope > .line + .line")) { block.remove(); return partLines(block, [...pre.children]); }
      shrink(block);
    }
    // A cell stays together where it can.
    function pourCell(cell) {
      const parts = [...cell.children];
      if (parts.some((part) => part.matches('[data-kind="picture"], [data-kind="image"]'))) return parts.forEach(pour);
      if (isClosed) open();
      page.append(cell);
      if (fits()) return;
      cell.remove();
      if (!isEmpty()) { turn(cell); page.append(cell); if (fits()) return; cell.remove(); }
      page.append(cell);
      if (squeeze([...cell.querySelectorAll("pre")])) return;
      cell.remove();
      parts.forEach(pour);
    }
    // Smaller type for listings, where they fit then; else they stay as they were.
    function squeeze(listings) {
      const sizes = listings.map((pre) => parseFloat(pre.style.fontSize));
      for (let most = Math.max(...sizes) - 1; most >= SMALLEST_PX; most -= 1) {
        listings.forEach((pre, i) => { pre.style.fontSize = `${Math.min(sizes[i], most)}px`; });
        if (fits()) return true;
      }
      listings.forEach((pre, i) => { pre.style.fontSize = `${sizes[i]}px`; });
      return false;
    }
    function partLines(block, lines) {
      const style = block.firstElementChild.getAttribute("style") ?? "";
      let rest = lines;
      while (rest.length) {
        const part = block.cloneNode(false), pre = make("pre", { style }, part);
        page.append(part);
        const head = rest === lines ? null : headOf(lines, lines.indexOf(rest[0]));
        if (head) { pre.append(head.cloneNode(true)); make("span", { class: "line" }, pre, "    …\n"); }
        const before = pre.childElementCount;
        for (const line of rest) { pre.append(line); if (!fits()) { line.remove(); break; } }
        let n = Math.max(1, pre.childElementCount - before);
        if (n < rest.length) n = cutOf(rest, n);
        while (pre.childElementCount > before + n) pre.lastChild.remove();
        if (pre.childElementCount === before) pre.append(rest[0]);
        rest = rest.slice(n);
        if (rest.length) open();
      }
    }
    const indentOf = (line) => (/^\s*($|[)\]}])/.test(line.textContent) ? 99 : line.textContent.search(/\S/));
    // The first line of the definition that a line is in the middle of.
    function headOf(lines, at) {
      if (!indentOf(lines[at])) return null;
      const head = lines.slice(0, at).findLast((line) => indentOf(line) === 0);
      return /^(def|class|for|while|with|if)\b/.test(head?.textContent ?? "") ? head : null;
    }
    // Of the lines that fit, all, or so many that the next one is indented least; not fewer than half.
    function cutOf(lines, most) {
      let best = most;
      for (let n = most; n >= most / 2; n -= 1) if (indentOf(lines[n]) < indentOf(lines[best])) best = n;
      return best;
    }
    function shrink(block) {
      let size = parseFloat(getComputedStyle(block).fontSize);
      while (!fits() && size > SMALLEST_PX) { size -= 1; block.style.fontSize = `${size}px`; }
      if (!fits()) page.dataset.tooMuch = "yes";
    }
    function alone(block) {
      if (isClosed || !isEmpty()) open();
      page.classList.add("full");
      const high = HEIGHT - page.offsetHeight;
      const frame = make("div", { class: "frame", style: `height: ${high}px` }, page);
      frame.append(...block.childNodes);
      isClosed = true;
    }
    // What comes after a folded answer on its slide may give it away: it is seen with the answer.
    for (const block of blocks) {
      if (block.matches("h1, h2")) { head(block); continue; }
      const asks = block.querySelector(".lm-answer") !== null;
      isClosed ||= isAsked && asks;
      const asked = isAsked ? page : null, shown = asked?.childElementCount;
      pour(block);
      if (asked) for (const one of [...asked.children].slice(shown)) one.classList.add("later");
      isAsked ||= asks;
    }
    if (isNew) open();
    for (const one of pages) {
      one.classList.remove("measured");
      if (notes) one.append(notes.cloneNode(true));
    }
    return pages;
  }

  // Code as large as its longest line lets it be.
  function sizeCode(section) {
    for (const pre of section.querySelectorAll('[data-kind="code"] > pre, [data-kind="out"] > pre, .highlight > pre')) {
      const most = Math.max(1, ...[...pre.children].map((line) => line.textContent.length - 1));
      const largest = pre.parentElement.dataset.kind === "code" ? CODE_PX : OUT_PX;
      pre.style.fontSize = `${Math.max(SMALLEST_PX, Math.min(largest, Math.floor(10 * (WIDTH - 30) / (0.603 * most)) / 10))}px`;
    }
  }

  // What is folded away needs its room, too. The first type with which there are fewest slides.
  for (const one of source.querySelectorAll("details:not([open])")) { one.open = true; one.dataset.folded = ""; }
  for (const section of [...source.children]) {
    sizeCode(section);
    const tries = PROSE_PX.map((prose) => layOut(section.cloneNode(true), prose));
    const pages = tries.reduce((best, one) => (one.length < best.length ? one : best));
    for (const one of tries) if (one !== pages) for (const page of one) page.remove();
    if (pages.length === 1) { slides.append(pages[0]); continue; }
    const stack = make("section", {}, slides);
    stack.append(...pages);
  }
  // An answer is opened by what turns the slides, too, before the next slide.
  const isPrinted = /print-pdf/.test(location.search);
  for (const one of slides.querySelectorAll("[data-folded]")) one.open = isPrinted;
  // Whether it is open is said by itself, not by reveal.js, which takes those of past slides for opened.
  const answersOf = (page) => page.querySelectorAll(".lm-answer");
  function follow(one) {
    one.classList.toggle("visible", one.open);
    for (const after of one.closest(".page").querySelectorAll(".later")) after.ariaHidden = String(!one.open);
  }
  for (const one of answersOf(slides)) {
    one.classList.add("fragment", "custom");
    one.addEventListener("toggle", () => follow(one));
    follow(one);
  }
  source.remove();
  ruler.remove();

  // Pictures ------------------------------------------------------------------------------------
  const frames = (n) => new Promise((done) => { const next = () => (n-- ? requestAnimationFrame(next) : done()); next(); });

  async function drawIn(page) {
    for (const slot of page.querySelectorAll(".lm-slot:not([data-taken])")) {
      slot.dataset.taken = "yes";
      slot.dataset.preventSwipe = "";
      await coursePictures.drawSlot(slot);
      await fit(slot, MOST_TIMES);
      new ResizeObserver(() => { if (tooHigh(slot)) fit(slot, slot.times); }).observe(slot);
      slot.dataset.drawn = "yes";
    }
  }
  const deepOf = (node) => node.getBoundingClientRect().height;
  const tooHigh = (slot) => slot.parentElement.clientHeight && deepOf(slot) > deepOf(slot.parentElement) * 1.0005;
  // The larger the picture, the fewer of its own pixels it gets in width: the largest that fits. Where the
  // least is too large, the picture is told how much room there is, and draws itself lower.
  async function fit(slot, most) {
    if (slot.isFitting) return;
    slot.isFitting = true;
    await take(slot, most);
    if (tooHigh(slot)) {
      await take(slot, LEAST_TIMES);
      let [low, high] = tooHigh(slot) ? [LAST_TIMES, LEAST_TIMES] : [LEAST_TIMES, most];
      for (let round = 0; round < 5; round += 1) {
        await take(slot, (low + high) / 2);
        if (tooHigh(slot)) high = slot.times; else low = slot.times;
      }
      await take(slot, low);
    }
    slot.isFitting = false;
  }
  async function take(slot, times) {
    const frame = slot.parentElement;
    if (times > LEAST_TIMES) delete slot.dataset.room; else slot.dataset.room = Math.floor(frame.clientHeight / times);
    slot.times = times;
    slot.style.width = `${frame.clientWidth / times}px`;
    slot.style.transform = `scale(${times})`;
    await frames(2);
  }

  // A mouse leaves no focus behind on what it has pressed: a presenter's clicker turns pages again. Who
  // comes by the tabulator has the keys until they leave.
  document.addEventListener("click", ({ detail }) => {
    const at = document.activeElement; // detail 0: pressed by a key
    if (detail && at.closest(".lm-root, details") && !at.matches("select, input:not([type=range])")) at.blur();
  });
  // Keys of ours; in the lecturer's view they mean the picture that the class sees, too.
  const KEYS = { M: 77, A: 65 };
  function play() {
    const moving = [...deck.getCurrentSlide().querySelectorAll(".lm-root")].find((root) => root.transport);
    moving?.transport.toggle();
    if (/[?&]receiver/.test(location.search)) parent.opener?.postMessage("play", "*");
  }
  function answer() { if (!deck.nextFragment()) deck.navigateFragment(-1); }
  addEventListener("message", ({ data }) => { if (data === "play") play(); });
  const isOurs = ({ keyCode, target }) => Object.values(KEYS).includes(keyCode) && !target?.matches?.("select, input");
  const deck = new Reveal(document.querySelector(".reveal"), {
    width: 1280, height: 720, margin: 0, minScale: 0.1, maxScale: 6, center: false, hash: true,
    navigationMode: "linear", slideNumber: "h.v", transition: "none", backgroundTransition: "none",
    pdfSeparateFragments: false,
    keyboardCondition: (event) => isOurs(event) || !event.target?.closest?.(".lm-root, details"),
    plugins: [RevealNotes],
  });
  window.deck = deck;
  deck.on("slidechanged", ({ currentSlide }) => { answersOf(currentSlide).forEach(follow); drawIn(currentSlide); });
  for (const [name, isShown] of [["fragmentshown", true], ["fragmenthidden", false]])
    deck.on(name, ({ fragments }) => { for (const one of fragments) { one.open = isShown; follow(one); } });
  deck.addKeyBinding({ keyCode: KEYS.M, key: "M", description: "Play or pause the picture" }, play);
  deck.addKeyBinding({ keyCode: KEYS.A, key: "A", description: "Open or fold the answer" }, answer);
  deck.initialize().then(async () => {
    if (isPrinted) for (const page of document.querySelectorAll(".page")) await drawIn(page);
    else await drawIn(deck.getCurrentSlide());
    document.body.dataset.ready = "yes";
  });
})();
