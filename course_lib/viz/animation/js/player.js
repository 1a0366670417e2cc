// The message player: the stage and the timeline of a trace, under one clock.
// For anywidget and for exported pages alike: plain JavaScript, no imports, no build.

function renderPlayer({ model, el }) {
  const scene = unpack(model.get("scene")), curves = model.get("curves"), title = model.get("title");
  const { root, hatch } = makeRoot(el, "player", `message player: ${title || scene.total}`);
  if (title) html("div", { class: "lm-title" }, root, title);
  const stageSvg = draw("svg", { class: "lm-stage", width: "100%", role: "img" }, root);
  const track = html("div", { class: "lm-track" }, root);
  const lineSvg = draw("svg", { class: "lm-timeline", width: "100%", role: "img", "aria-label": `timeline of ${scene.total}` }, track);
  const over = draw("svg", { class: "lm-head", "aria-hidden": "true" }, track);
  const unit = (tick) => `${(tick * scene.tick / scene.unit[0]).toFixed(2)} ${scene.unit[1]}`;
  let even = model.get("even_steps"), large = model.get("large"), critical = model.get("critical_path");
  let said = null, stage, timeline, moveHead, mapping = makeMapping(scene, even);

  function show(tick) {
    const moment = at(scene, tick), sentence = caption(scene, tick, moment);
    stage.update(moment);
    timeline.legend(tick);
    moveHead(timeline.x(tick));
    if (sentence !== said) { says.textContent = said = sentence; stageSvg.setAttribute("aria-label", sentence); }
  }
  const teller = makeTeller(model), transport = makeTransport(root, {
    show,
    end: () => scene.end,
    steps: () => scene.steps,
    to: (tick) => mapping.to(tick),
    from: (f) => mapping.from(f),
    seconds: () => clamp(0.6 * scene.steps.length, 8, even ? 60 : 20),
    text: (tick) => `${unit(tick)} ${scene.clock}`,
    rested: (tick) => teller.tell(tick * scene.tick),
  }, Math.round(model.get("time_s") / scene.tick));
  transport.choice("even steps", "give every step the same time; the axis is then not to scale", even, () => { even = !even; model.set("even_steps", even); build(); return even; });
  transport.enlarge(large, () => { large = !large; model.set("large", large); build(); return large; });
  if (scene.critical.length) transport.choice("critical path", "mark the messages that the run had to wait for", critical, () => { critical = !critical; model.set("critical_path", critical); build(); return critical; });
  const says = html("div", { class: "lm-caption", "aria-live": "polite" }, root);
  const aside = html("div", { class: "lm-aside" }, root);
  const tip = html("div", { class: "lm-tip", hidden: "" }, root);

  const flights = scene.messages.filter((m) => m.arrived >= 0).map((m) => m.arrived - m.posted).sort((a, b) => a - b);
  const tooShort = flights[flights.length >> 1] < scene.end / 400;  // under 50 ms of a show of 20 s
  function build(excess = 0) {
    const width = Math.max(320, root.clientWidth - 2), k = large ? 1.5 : 1;
    root.classList.toggle("lm-large", large);
    mapping = makeMapping(scene, even);
    stage = makeStage(stageSvg, scene, width, k, hatch, excess);
    timeline = makeTimeline(lineSvg, scene, curves, width, k, mapping, even, hatch, critical, excess - stage.given);
    moveHead = makeHead(over, timeline.top, timeline.low - (curves.length ? 0 : 20 * k), k);
    aside.textContent = [even ? "even steps: the time axis is not to scale" : tooShort && "most messages are too short to be seen at this scale: even steps show them", scene.thinned].filter(Boolean).join("; ");
    transport.show();
  }

  watchLanes(root, lineSvg, tip, scene, () => timeline, transport.seek, unit);
  const follow = () => { const t = Math.round(model.get("time_s") / scene.tick); if (Math.abs(t - transport.position()) > 1) transport.follow(t); };
  model.on("change:time_s", follow);
  const unwatch = watchSize(root, build);
  const ticks = (time_s) => +(time_s / scene.tick).toFixed(6);
  root.player = { scene, at: (time_s) => at(scene, ticks(time_s)), say: (time_s) => caption(scene, ticks(time_s), at(scene, ticks(time_s))),
    seek: (time_s) => transport.seek(ticks(time_s)), time: () => transport.position() * scene.tick, isPlaying: transport.isPlaying };
  return () => { transport.halt(); teller.end(); unwatch(); model.off?.("change:time_s", follow); root.remove(); };
}
