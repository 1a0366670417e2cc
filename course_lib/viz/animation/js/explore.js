// Sliders and choices beside a picture that follows while they move. With a kernel each setting is
// asked for once; without one there are the settings that the page has baked in.

// A model for a picture that no kernel knows of.
function plainModel(traits) {
  return { get: (name) => traits[name], set(name, value) { traits[name] = value; }, on() {}, off() {}, save_changes() {} };
}

function renderExplore({ model, el }) {
  const knobs = model.get("knobs"), title = model.get("title"), live = model.get("live") && model.send;
  const { root } = makeRoot(el, "explore", `explore: ${title || knobs.map((knob) => knob.label).join(", ")}`);
  if (title) html("div", { class: "lm-title" }, root, title);
  const panel = html("div", { class: "lm-knobs" }, root), host = html("div", { class: "lm-host-of" }, root);
  const says = html("div", { class: "lm-caption", "aria-live": "polite", hidden: "" }, root);
  const aside = html("div", { class: "lm-aside" }, root, model.get("aside"));
  const found = { ...model.get("found") }, pictures = [...model.get("pictures")];
  const here = knobs.map((knob) => knob.start);
  let shown = null, waiting = null, wanted = null, away = null;
  knobs.forEach((knob, i) => makeKnob(panel, knob, (at) => { here[i] = at; follow(); }));

  function follow() {
    const key = here.join(",");
    if (key in found) return show(key);
    wanted = key;
    if (live && waiting === null) ask();
    else if (!live) say("this setting is not in the page: run the cell to compute it");
  }
  // One question at a time: what was wanted meanwhile is forgotten but for the newest.
  function ask() { waiting = wanted; wanted = null; root.classList.add("lm-waiting"); model.send({ key: waiting }); }
  function answer(message) {
    if (message.key === undefined) return;
    if (message.picture !== undefined) found[message.key] = pictures.push(message.picture) - 1;
    else found[message.key] = message.error;
    waiting = null;
    root.classList.remove("lm-waiting");
    if (message.key === here.join(",")) show(message.key);
    if (wanted !== null && !(wanted in found)) ask();
  }
  function say(text) { says.hidden = !text; says.textContent = text; }
  function show(key) {
    const what = found[key];
    wanted = null;
    if (typeof what === "string") return say(what);
    say("");
    if (what === shown) return;
    shown = what;
    // The playhead stays where it was, as a part of the whole, and the page does not jump.
    const before = host.querySelector(".lm-root")?.transport?.fraction() ?? 0;
    host.style.minHeight = `${host.clientHeight}px`;
    away?.();
    const traits = { ...pictures[what] };
    away = KINDS[traits.kind]({ model: plainModel(traits), el: host });
    if (before) host.querySelector(".lm-root").transport?.seekFraction(before);
    host.style.minHeight = "";
  }
  const hear = (message) => answer(message);
  if (live) model.on("msg:custom", hear);
  follow();
  root.explore = { here: () => here.map((at, i) => knobs[i].texts[at]), shown: () => shown, isWaiting: () => waiting !== null };
  return () => { if (live) model.off("msg:custom", hear); away?.(); root.remove(); };
}

// Numbers in order get a slider, anything else a row of buttons.
function makeKnob(panel, knob, act) {
  const box = html("div", { class: "lm-knob", role: "group", "aria-label": knob.label }, panel);
  html("span", { class: "lm-knob-name" }, box, knob.label);
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
