// What all pictures share: elements, colours, and text that fits.

const SVG = "http://www.w3.org/2000/svg";
const COLOURS = ["#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7"];

// The order in which curves take them begins with those that are seen best on white and on black.
const CURVE_ORDER = [5, 4, 2, 6, 0, 1, 3];

// What is said of a value that is null: it was infinite, or NaN, which a page cannot hold.
const NO_NUMBER = "no finite number";

function draw(name, attributes, parent, text) {
  const node = document.createElementNS(SVG, name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  parent?.append(node);
  return node;
}

function html(name, attributes, parent, text) {
  const node = document.createElement(name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  parent?.append(node);
  return node;
}

const fit = (text, width, letter) => {
  const most = Math.floor(width / letter);
  return text.length <= most ? text : most < 3 ? "" : text.slice(0, most - 1) + "…";
};
// What does not fit is cut to its last word, "forward 0F3" to "0F3"; a part of a word says nothing.
// Of "3 @ 9" it is the first word: the last number alone would be taken for it.
function shortWord(text) {
  const words = text.split(" "), last = words.at(-1);
  return /^\d+$/.test(last) && words.slice(0, -1).some((word) => /\d/.test(word)) ? words[0] : last;
}
const lastWord = (text, width, letter) => [text, shortWord(text), ""].find((words) => words.length * letter <= width);
// A slide is read from the last row: its page says what its smallest type is, in a picture's own pixels.
const LEAST_TYPE = parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--lm-least-type")) || 0;
const readable = (px) => Math.max(px, LEAST_TYPE);
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

// Shift, Ctrl or Alt with Enter run a cell wherever the focus is: in a picture, too, they are the
// notebook's, and press no button. The window hears of a key before JupyterLab asks who keeps it.
function letEnterRunCells() {
  if (window.lmEnterRunsCells) return;
  window.lmEnterRunsCells = true;
  window.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.shiftKey || event.ctrlKey || event.altKey)) return;
    const kept = [];
    for (let node = event.target; node; node = node.parentElement) if (node.dataset?.lmSuppressShortcuts) kept.push(node);
    if (!kept.some((node) => node.classList.contains("lm-root"))) return;
    for (const node of kept) delete node.dataset.lmSuppressShortcuts;
    setTimeout(() => { for (const node of kept) node.dataset.lmSuppressShortcuts = "true"; });
  }, true);
}

// The frame of a picture: its root, and a hatching that its parts may fill with.
function makeRoot(el, kind, label) {
  const root = html("div", { class: `lm-root lm-${kind}`, tabindex: 0, role: "group", "aria-label": label }, el);
  root.dataset.lmSuppressShortcuts = "true";  // else keys typed here would edit the notebook
  letEnterRunCells();
  // JupyterLab takes the arrows that reach it for its own: a slider in here would stand still.
  root.addEventListener("keydown", (event) => { if (/^(Arrow|Home|End|Page)/.test(event.key)) event.stopPropagation(); });
  const hatch = `lm-hatch-${Math.random().toString(36).slice(2)}`;
  const defs = draw("svg", { width: 0, height: 0, class: "lm-defs", "aria-hidden": "true" }, root);
  const pattern = draw("pattern", { id: hatch, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, defs);
  draw("path", { d: "M0 0V7", class: "lm-hatching" }, pattern);
  return { root, hatch };
}

// How many times larger a slide shows what is in it than its own pixels are.
const timesOf = (root) => root.getBoundingClientRect().width / root.offsetWidth || 1;

// Calls build at first and whenever the width has changed, and again where a slide has less room for all
// of the picture: `build(excess)` draws it by so many pixels lower. Returns what ends that.
function watchSize(root, build) {
  let wide = 0;
  const excess = () => { const slot = root.closest("[data-room]"); return slot ? slot.offsetHeight - slot.dataset.room : 0; };
  const draw = () => {
    wide = root.clientWidth;
    build(0);
    const much = excess();
    if (much > 0) build(much);
  };
  const watch = new ResizeObserver(() => { if (root.clientWidth !== wide || excess() > 1) draw(); });
  draw();
  watch.observe(root);
  return () => watch.disconnect();
}
