// The message player: the controls, and the clock that stage and timeline share.
// For anywidget and for exported pages alike: plain JavaScript, no imports, no build.

const SPEEDS = [0.25, 0.5, 1, 2, 4];
const ICONS = {
  start: "M5 4v12M16 4 7.5 10 16 16z",
  back: "M6 4v12M15.5 4.5v11L8.5 10z",
  play: "M6 4v12l10-6z",
  pause: "M7 4v12M13 4v12",
  on: "M14 4v12M4.5 4.5v11l7-5.5z",
};

function render({ model, el }) {
  const scene = unpack(model.get("scene")), curves = model.get("curves"), title = model.get("title");
  const root = html("div", { class: "lm-player", tabindex: 0, role: "group", "aria-label": `message player: ${title || scene.total}` }, el);
  root.dataset.lmSuppressShortcuts = "true";
  const hatch = `lm-hatch-${Math.random().toString(36).slice(2)}`;
  const defs = draw("svg", { width: 0, height: 0, class: "lm-defs", "aria-hidden": "true" }, root);
  const pattern = draw("pattern", { id: hatch, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, defs);
  draw("path", { d: "M0 0V7", class: "lm-hatching" }, pattern);
  if (title) html("div", { class: "lm-title" }, root, title);
  const stageSvg = draw("svg", { class: "lm-stage", width: "100%", role: "img" }, root);
  const track = html("div", { class: "lm-track" }, root);
  const lineSvg = draw("svg", { class: "lm-timeline", width: "100%", role: "img", "aria-label": `timeline of ${scene.total}` }, track);
  const over = draw("svg", { class: "lm-head", "aria-hidden": "true" }, track);
  const bar = html("div", { class: "lm-bar" }, root);
  const button = (icon, label, act) => {
    const node = html("button", { type: "button", "aria-label": label, title: label }, bar);
    draw("path", { d: ICONS[icon] }, draw("svg", { viewBox: "0 0 20 20", "aria-hidden": "true" }, node));
    node.addEventListener("click", act);
    return node;
  };
  button("start", "to start", () => seek(0));
  button("back", "step back", () => step(-1));
  const playButton = button("play", "play", () => toggle());
  button("on", "step on", () => step(1));
  const scrub = html("input", { type: "range", min: 0, max: 1000, step: "any", "aria-label": "time" }, bar);
  const clock = html("span", { class: "lm-clock" }, bar);
  const pick = html("select", { "aria-label": "speed" }, bar);
  for (const s of SPEEDS) html("option", { value: s }, pick, `${s === 0.25 ? "¼" : s === 0.5 ? "½" : s}×`);
  const choice = (label, hint, act) => {
    const node = html("button", { type: "button", class: "lm-choice", "aria-pressed": "false", title: hint }, bar, label);
    node.addEventListener("click", () => { node.setAttribute("aria-pressed", String(act())); build(); });
    return node;
  };
  let even = model.get("even_steps"), large = model.get("large");
  choice("even steps", "give every step the same time; the axis is then not to scale", () => (even = !even)).setAttribute("aria-pressed", String(even));
  choice("large", "larger type, for a lecture room", () => (large = !large)).setAttribute("aria-pressed", String(large));
  let critical = model.get("critical_path");
  if (scene.critical.length) choice("critical path", "mark the messages that the run had to wait for", () => (critical = !critical)).setAttribute("aria-pressed", String(critical));
  const says = html("div", { class: "lm-caption", "aria-live": "polite" }, root);
  const aside = html("div", { class: "lm-aside" }, root);
  const tip = html("div", { class: "lm-tip", hidden: "" }, root);

  const flights = scene.messages.filter((m) => m.arrived >= 0).map((m) => m.arrived - m.posted).sort((a, b) => a - b);
  const tooShort = flights[flights.length >> 1] < scene.end / 400;  // under 50 ms of a show of 20 s
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const unit = (tick) => `${(tick * scene.tick / scene.unit[0]).toFixed(2)} ${scene.unit[1]}`;
  let tick = clamp(Math.round(model.get("time_s") / scene.tick), 0, scene.end);
  let speed = 1, playing = false, goal = null, request = 0, timer = 0, telling = 0, last = 0, said = null, stage, timeline, mapping;

  function build() {
    const width = Math.max(320, root.clientWidth - 2), k = large ? 1.5 : 1;
    root.classList.toggle("lm-large", large);
    mapping = makeMapping(scene, even);
    stage = makeStage(stageSvg, scene, width, k, hatch);
    timeline = makeTimeline(lineSvg, over, scene, curves, width, k, mapping, even, hatch, critical);
    aside.textContent = [even ? "even steps: the time axis is not to scale" : tooShort && "most messages are too short to be seen at this scale: even steps show them", scene.thinned].filter(Boolean).join("; ");
    show();
  }
  function show() {
    const moment = at(scene, tick), sentence = caption(scene, tick, moment);
    stage.update(moment);
    timeline.update(tick);
    if (sentence !== said) { says.textContent = said = sentence; stageSvg.setAttribute("aria-label", sentence); }
    scrub.value = 1000 * mapping.to(tick);
    clock.textContent = `${unit(tick)} ${scene.clock}`;
    scrub.setAttribute("aria-valuetext", clock.textContent);
  }
  const duration = () => clamp(0.6 * scene.steps.length, 8, even ? 60 : 20) / speed;
  function frame(now) {
    // A frame's time may lie before the moment that asked for it.
    const seconds = clamp((now - last) / 1000, 0, 0.1), f = mapping.to(tick);
    last = now;
    if (goal !== null) {
      const aim = mapping.to(goal), rest = aim - f, pace = Math.max(Math.abs(rest) * 6, 0.02) * seconds;
      if (Math.abs(rest) <= pace) { tick = goal; goal = null; } else tick = mapping.from(f + Math.sign(rest) * pace);
    } else tick = Math.min(scene.end, mapping.from(Math.min(1, f + seconds / duration())));
    show();
    if (goal === null && (!playing || tick >= scene.end)) rest(); else request = requestAnimationFrame(frame);
  }
  function move() { if (!request) { last = performance.now(); request = requestAnimationFrame(frame); } }
  function halt() {
    cancelAnimationFrame(request); clearInterval(timer);
    request = timer = 0; goal = null; playing = false; face();
  }
  // Other views hear of the time at once, the kernel when the motion is over.
  function rest() {
    halt();
    model.set("time_s", tick * scene.tick);
    clearTimeout(telling);
    telling = setTimeout(() => model.save_changes?.(), 150);
  }
  function face() {
    playButton.setAttribute("aria-label", playing ? "pause" : "play");
    playButton.title = playing ? "pause" : "play";
    playButton.querySelector("path").setAttribute("d", playing ? ICONS.pause : ICONS.play);
  }
  function toggle() {
    if (playing) return rest();
    halt();
    if (tick >= scene.end) tick = 0;
    playing = true; face();
    if (still.matches) { hop(1); timer = setInterval(() => { if (!hop(1)) rest(); }, 1000 / speed); }
    else move();
  }
  function seek(to) { halt(); tick = clamp(to, 0, scene.end); show(); rest(); }
  function next(way, from) {
    const slack = scene.end * 1e-9;
    return way > 0 ? scene.steps.find((s) => s > from + slack) ?? scene.end : scene.steps.findLast((s) => s < from - slack) ?? 0;
  }
  function hop(way) { tick = next(way, tick); show(); return tick < scene.end; }
  function step(way) {
    const to = next(way, goal ?? tick);
    if (playing || still.matches) { halt(); tick = to; show(); rest(); } else { goal = to; move(); }
  }
  function setSpeed(value) {
    speed = value; pick.value = value;
    if (playing && still.matches) { halt(); toggle(); }
  }

  pick.addEventListener("change", () => setSpeed(+pick.value));
  scrub.addEventListener("input", () => seek(mapping.from(scrub.value / 1000)));
  root.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.target === pick && !"+-".includes(event.key)) return;
    if (event.key === " " && event.target.tagName === "BUTTON") return;
    const shift = (d) => setSpeed(SPEEDS[clamp(SPEEDS.indexOf(speed) + d, 0, 4)]);
    const act = { " ": toggle, ArrowLeft: () => step(-1), ArrowRight: () => step(1), Home: () => seek(0),
      End: () => seek(scene.end), "+": () => shift(1), "=": () => shift(1), "-": () => shift(-1) }[event.key];
    if (!act) return;
    event.preventDefault(); event.stopPropagation(); act();
  });
  const point = (event) => { const r = lineSvg.getBoundingClientRect(); return [event.clientX - r.left, event.clientY - r.top]; };
  lineSvg.addEventListener("pointerdown", (event) => { lineSvg.setPointerCapture(event.pointerId); root.focus({ preventScroll: true }); seek(timeline.tickAt(point(event)[0])); });
  lineSvg.addEventListener("pointermove", (event) => {
    const [px, py] = point(event);
    if (event.buttons) seek(timeline.tickAt(px));
    const text = detail(scene, timeline.tickAt(px), timeline.rankAt(py), unit, Math.abs(timeline.tickAt(px + 3) - timeline.tickAt(px - 3)));
    tip.hidden = !text; tip.textContent = text;
    tip.style.left = `${clamp(px + 12, 0, root.clientWidth - 240)}px`;
    tip.style.top = `${lineSvg.getBoundingClientRect().top - root.getBoundingClientRect().top + py + 18}px`;
  });
  lineSvg.addEventListener("pointerleave", () => { tip.hidden = true; });
  const follow = () => { const t = Math.round(model.get("time_s") / scene.tick); if (!request && Math.abs(t - tick) > 1) { tick = clamp(t, 0, scene.end); show(); } };
  model.on("change:time_s", follow);
  let wide = 0;
  const watch = new ResizeObserver(() => { if (root.clientWidth !== wide) { wide = root.clientWidth; build(); } });
  build();
  watch.observe(root);
  setSpeed(1);
  const ticks = (time_s) => +(time_s / scene.tick).toFixed(6);
  root.player = { scene, at: (time_s) => at(scene, ticks(time_s)), say: (time_s) => caption(scene, ticks(time_s), at(scene, ticks(time_s))),
    seek: (time_s) => seek(ticks(time_s)), time: () => tick * scene.tick, isPlaying: () => playing };
  return () => { halt(); clearTimeout(telling); watch.disconnect(); model.off?.("change:time_s", follow); root.remove(); };
}

export default { render };
