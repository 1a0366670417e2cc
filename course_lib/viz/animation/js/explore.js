// Sliders and choices beside a picture that follows while they move. With a kernel each setting is
// asked for once; without one there are the settings that the page has baked in.
//
// Answers come to the widget's layout, a model of JupyterLab's own. anywidget gives a script two
// seconds to load; if a busy computer needs longer, it draws, but hears no message ever after.

const PATIENCE_MS = 3000;

function renderExplore({ model, el }) {
  const knobs = model.get("knobs"), title = model.get("title"), live = model.get("live") && model.send;
  const { root } = makeRoot(el, "explore", `explore: ${title || knobs.map((knob) => knob.label).join(", ")}`);
  if (title) html("div", { class: "lm-title" }, root, title);
  const panel = html("div", { class: "lm-knobs" }, root), host = html("div", { class: "lm-host-of" }, root);
  const says = html("div", { class: "lm-caption lm-error", "aria-live": "polite", hidden: "" }, root);
  const heard = html("div", { class: "lm-unseen", role: "status" }, root);
  if (model.get("aside")) html("div", { class: "lm-aside" }, root, model.get("aside"));
  const found = { ...model.get("found") }, pictures = [...model.get("pictures")];
  const here = knobs.map((knob) => knob.start), switched = {};
  let shown = null, waiting = null, wanted = null, away = null, patience = 0;
  knobs.forEach((knob, i) => makeKnob(panel, knob, (at) => { here[i] = at; follow(); }));

  function follow() {
    const key = here.join(",");
    wanted = null;
    if (key in found) return typeof found[key] === "string" ? say(found[key]) : show(found[key]);
    if (!live) return say("this setting is not in the page: run the cell to compute it");
    if (key === waiting) return;
    wanted = key;
    if (waiting === null) ask();
  }
  // One question at a time: what was wanted meanwhile is forgotten but for the newest.
  function ask() {
    waiting = wanted; wanted = null;
    root.classList.add("lm-waiting");
    clearTimeout(patience);
    patience = setTimeout(() => say("waiting for the kernel: it is busy, or the cell has to be run again"), PATIENCE_MS);
    try { model.send({ key: waiting }); } catch { end(); say("no kernel: run the cell to compute this setting"); }
  }
  function end() { waiting = null; clearTimeout(patience); root.classList.remove("lm-waiting"); }
  // What is no longer wanted is shown all the same, until the newest is there: the picture follows.
  // An error is not kept: the setting is asked for again when it is next set.
  function answer(message) {
    if (message.picture !== undefined) found[message.key] = pictures.push(message.picture) - 1;
    if (message.key !== waiting) return;  // another view has asked
    end();
    if (wanted !== null && !(wanted in found)) ask();
    if (message.error === undefined) show(found[message.key]);
    else if (message.key === here.join(",")) return say(message.error);
    if (waiting === null) follow();
  }
  function say(text) { says.hidden = !text; if (says.textContent !== text) says.textContent = text; }
  // A picture that no kernel knows of; how its switches were turned holds for those that follow.
  const modelOf = (traits) => ({ get: (name) => traits[name], on() {}, off() {}, save_changes() {},
    set(name, value) {
      traits[name] = value;
      if (name !== "time_s") switched[name] = value;
      if (name === "large") root.classList.toggle("lm-large", value);
    } });
  function show(what) {
    say("");
    if (what === shown) return;
    // The playhead stays where it was, as a part of the whole; the focus and the page do not jump.
    const before = shown === null ? null : host.firstChild?.transport?.state(), focused = host.contains(document.activeElement);
    host.style.minHeight = `${host.clientHeight}px`;
    away?.();
    shown = what;
    const traits = { ...pictures[what], ...switched };
    away = KINDS[traits.kind]({ model: modelOf(traits), el: host });
    if (before) host.firstChild.transport?.restore(before);
    if (focused) host.firstChild.focus({ preventScroll: true });
    host.style.minHeight = "";
    // A caption that is new on the page is not read to those who listen; a change of this one is.
    if (before !== null) heard.textContent = host.querySelector(".lm-caption")?.textContent ?? "";
  }
  const letterbox = live ? model.get("layout") : null;
  letterbox?.on("msg:custom", answer);
  follow();
  root.explore = { here: () => here.map((at, i) => knobs[i].texts[at]), shown: () => shown, isWaiting: () => waiting !== null };
  return () => { letterbox?.off("msg:custom", answer); clearTimeout(patience); away?.(); root.remove(); };
}

// Numbers in order get a slider, anything else a row of buttons.
function makeKnob(panel, knob, act) {
  const box = html("div", { class: "lm-knob", role: "group", "aria-label": knob.label }, panel);
  html("span", { class: "lm-knob-name" }, box, knob.label);
  if (knob.texts.length === 1) return html("span", { class: "lm-knob-value" }, box, knob.texts[0]);
  if (knob.kind === "slider") {
    const input = html("input", { type: "range", min: 0, max: knob.texts.length - 1, step: 1, "aria-label": knob.label }, box);
    const value = html("span", { class: "lm-knob-value" }, box);
    value.style.minWidth = `${Math.max(...knob.texts.map((text) => text.length)) * 0.62 + 0.5}em`;
    const face = () => { value.textContent = knob.texts[+input.value]; input.setAttribute("aria-valuetext", value.textContent); };
    input.value = knob.start;
    input.addEventListener("input", () => { face(); act(+input.value); });
    return face();
  }
  const buttons = knob.texts.map((text, at) => {
    const node = html("button", { type: "button", "aria-pressed": String(at === knob.start) }, box, text);
    node.addEventListener("click", () => {
      buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === node)));
      act(at);
    });
    return node;
  });
}
