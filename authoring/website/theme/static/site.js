// Formulas, pictures as they come into sight, and the contents on a narrow screen.

(() => {
  const text = document.getElementById("text");

  if (window.renderMathInElement) {
    const delimiters = [{ left: "$$", right: "$$", display: true }, { left: "$", right: "$", display: false }];
    for (const part of document.querySelectorAll("main, nav")) {
      renderMathInElement(part, { delimiters, throwOnError: false, ignoredTags: ["script", "pre", "code"] });
    }
  }

  // A page has up to forty pictures: each is drawn when it is about to be seen, or printed.
  const slots = [...document.querySelectorAll(".lm-slot")];
  async function draw(slot) {
    if (slot.dataset.taken) return;
    slot.dataset.taken = "yes";
    await coursePictures.drawSlot(slot);
    slot.dataset.drawn = "yes";
    const root = slot.querySelector(".lm-root");
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (slot.closest(".plays") && root?.transport && !isStill) slot.querySelector("[aria-label=play]")?.click();
  }
  const near = new IntersectionObserver((seen) => {
    for (const one of seen) if (one.isIntersecting) { near.unobserve(one.target); draw(one.target); }
  }, { rootMargin: "600px 0px" });
  slots.forEach((slot) => near.observe(slot));
  window.addEventListener("beforeprint", () => slots.forEach(draw));

  // The tables of docstrings, as all others: they move sideways in a box of their own.
  for (const table of text.querySelectorAll("table")) {
    if (table.closest(".wide, .lm-root")) continue;
    const box = document.createElement("div");
    box.className = "wide";
    table.replaceWith(box);
    box.append(table);
  }

  // What can be moved sideways can be reached by the keys.
  function reach() {
    for (const one of text.querySelectorAll("pre, .wide, .katex-display")) {
      if (one.scrollWidth > one.clientWidth) one.tabIndex = 0; else one.removeAttribute("tabindex");
    }
  }
  reach();
  window.addEventListener("resize", reach);
  text.addEventListener("toggle", reach, true);

  const opens = document.querySelector(".opens"), contents = document.getElementById("contents");
  opens.addEventListener("click", () => {
    const isOpen = contents.classList.toggle("open");
    opens.setAttribute("aria-expanded", isOpen);
  });
  const here = [...contents.querySelectorAll("a.current")].at(-1);
  if (here) {
    here.setAttribute("aria-current", "page");
    contents.scrollTop = here.offsetTop - contents.clientHeight / 2;
  }
})();
