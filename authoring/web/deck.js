// Lays the blocks of each section out on as many slides as they fill, and starts reveal.js.
// A picture has a slide of its own, and is drawn when it is first seen. A listing that is too long
// goes on where a line ends; what follows a question's answer begins a new slide; what cannot be parted
// gets smaller type, down to a limit.

(() => {
  const HEIGHT = 720, WIDTH = 1216, SMALLEST_PX = 19, CODE_PX = 26, OUT_PX = 24, MOST_TIMES = 2, LEAST_TIMES = 0.6;
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
  function layOut(section) {
    const pages = [], notes = section.querySelector("aside.notes"), blocks = [];
    for (const child of section.children) {
      if (child === notes) continue;
      if (child.dataset.kind === "text") blocks.push(...child.children);
      else blocks.push(child);
    }
    let page = null, isClosed = true, heading = null, isNew = false;

    function open() {
      page = make("section", { class: "page measured" }, ruler);
      if (isNew) page.append(heading.cloneNode(true));
      else if (heading) make("p", { class: "again" }, page).innerHTML = heading.innerHTML;
      isNew = false;
      page.top = page.childElementCount;
      pages.push(page);
      isClosed = false;
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
      const lines = [...block.querySelectorAll(":scope > pre > .line")];
      if (lines.length > 1) return partLines(block, lines);
      page.append(block);
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
      parts.forEach(pour);
    }
    function partLines(block, lines) {
      let part = null, pre = null;
      for (const line of lines) {
        if (!part) { part = block.cloneNode(false); pre = make("pre", { style: block.firstElementChild.getAttribute("style") ?? "" }, part); page.append(part); }
        pre.append(line);
        if (fits()) continue;
        line.remove();
        open();
        part = block.cloneNode(false); pre = make("pre", { style: block.firstElementChild.getAttribute("style") ?? "" }, part); page.append(part);
        pre.append(line);
      }
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
    // What comes after a folded answer may give it away: it has to wait for the next slide.
    for (const block of blocks) {
      if (block.matches("h1, h2")) head(block); else pour(block);
      isClosed ||= block.querySelector(".lm-answer") !== null;
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
    for (const pre of section.querySelectorAll('[data-kind="code"] > pre, [data-kind="out"] > pre')) {
      const most = Math.max(1, ...[...pre.children].map((line) => line.textContent.length - 1));
      const largest = pre.parentElement.dataset.kind === "code" ? CODE_PX : OUT_PX;
      pre.style.fontSize = `${Math.max(SMALLEST_PX, Math.min(largest, Math.floor(10 * (WIDTH - 30) / (0.603 * most)) / 10))}px`;
    }
  }

  // What is folded away needs its room, too.
  const folded = [...source.querySelectorAll("details:not([open])")];
  for (const one of folded) one.open = true;
  for (const section of [...source.children]) {
    sizeCode(section);
    const pages = layOut(section);
    if (pages.length === 1) { slides.append(pages[0]); continue; }
    const stack = make("section", {}, slides);
    stack.append(...pages);
  }
  for (const one of folded) one.open = false;
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
  const tooHigh = (slot) => slot.parentElement.clientHeight && slot.offsetHeight * slot.times > slot.parentElement.clientHeight + 1;
  // The larger the picture, the fewer of its own pixels it gets in width: the largest that fits.
  async function fit(slot, most) {
    if (slot.isFitting) return;
    slot.isFitting = true;
    let low = LEAST_TIMES, high = most;
    await take(slot, high);
    if (tooHigh(slot)) {
      for (let round = 0; round < 5; round += 1) {
        await take(slot, (low + high) / 2);
        if (tooHigh(slot)) high = slot.times; else low = slot.times;
      }
      await take(slot, low);
    }
    slot.isFitting = false;
  }
  async function take(slot, times) {
    slot.times = times;
    slot.style.width = `${slot.parentElement.clientWidth / times}px`;
    slot.style.transform = `scale(${times})`;
    await frames(2);
  }

  // A mouse leaves no focus behind on what it has pressed: a presenter's clicker turns pages again. Who
  // comes by the tabulator has the keys until they leave.
  document.addEventListener("click", ({ detail }) => {
    const at = document.activeElement; // detail 0: pressed by a key
    if (detail && at.closest(".lm-root, details") && !at.matches("select, input:not([type=range])")) at.blur();
  });
  const deck = new Reveal(document.querySelector(".reveal"), {
    width: 1280, height: 720, margin: 0, minScale: 0.1, maxScale: 6, center: false, hash: true,
    navigationMode: "linear", slideNumber: "h.v", transition: "none", backgroundTransition: "none",
    keyboardCondition: (event) => !event.target.closest?.(".lm-root, details"),
    plugins: [RevealNotes],
  });
  window.deck = deck;
  deck.on("slidechanged", ({ currentSlide }) => drawIn(currentSlide));
  deck.initialize().then(async () => {
    if (/print-pdf/.test(location.search)) for (const page of document.querySelectorAll(".page")) await drawIn(page);
    else await drawIn(deck.getCurrentSlide());
    document.body.dataset.ready = "yes";
  });
})();
