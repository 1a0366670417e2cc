// Timelines that move: one run, or several above each other on one axis, under one playhead.

function renderTimeline({ model, el }) {
  const scenes = model.get("scenes").map(unpack), names = model.get("names"), title = model.get("title");
  const longest = scenes.reduce((a, b) => b.end * b.tick > a.end * a.tick ? b : a), alone = scenes.length === 1;
  const total = (scene) => scene.messages.length ? `; ${scene.total}` : "";
  const took = (seconds) => `${+(seconds / longest.unit[0]).toPrecision(4)} ${longest.unit[1]}`;
  const inWords = (scene) => took(scene.end * scene.tick) + total(scene);
  const totals = scenes.map((scene, i) => (names[i] ? `${names[i]}: ` : "") + inWords(scene)).join("; ");
  const { root, hatch } = makeRoot(el, "timelines", `timeline: ${title || totals}`);
  if (title) html("div", { class: "lm-title" }, root, title);
  const track = html("div", { class: "lm-track" }, root);
  const clock = scenes.every((scene) => scene.clock === longest.clock) ? longest.clock : "";
  const lanes = scenes.map((scene, i) => {
    const head = html("div", { class: "lm-run" }, track);
    if (names[i]) html("span", { class: "lm-run-name" }, head, names[i]);
    html("span", { class: "lm-run-total" }, head, `${took(scene.end * scene.tick)}${clock ? "" : ` ${scene.clock}`}${total(scene)}`);
    return draw("svg", { class: "lm-timeline", width: "100%", role: "img", "aria-label": `timeline of ${names[i] || "the run"}: ${inWords(scene)}` }, track);
  });
  const future = html("div", { class: "lm-future" }, track), over = draw("svg", { class: "lm-head", "aria-hidden": "true" }, track);
  const keys = html("div", { class: "lm-keys" }, root);
  drawKeys(keys, scenes, hatch);
  // Positions are ticks of the longest run; another run's tick may be shorter.
  const tickOf = (scene, position) => Math.min(scene.end, position * longest.tick / scene.tick);
  const steps = [...new Set(scenes.flatMap((scene) => scene.steps.map((tick) => tick * scene.tick / longest.tick)))].sort((a, b) => a - b);
  const ranks = scenes.reduce((sum, scene) => sum + scene.size, 0);
  let even = alone && model.get("even_steps"), large = model.get("large"), critical = model.get("critical_path");
  let said = [], drawn = [], moveHead = () => {}, mapping = makeMapping(longest, even);

  function show(position) {
    const f = mapping.to(position);
    moveHead(drawn[0].left + f * (drawn[0].right - drawn[0].left));
    future.style.transform = `scaleX(${position <= 0 ? 0 : (1 - f).toFixed(5)})`;
    scenes.forEach((scene, i) => {
      const tick = tickOf(scene, position), sentence = (names[i] ? `${names[i]}: ` : "") + caption(scene, tick, at(scene, tick));
      if (sentence !== said[i]) says[i].textContent = said[i] = sentence;
    });
  }
  const unit = (position) => `${(position * longest.tick / longest.unit[0]).toFixed(2)} ${longest.unit[1]}`;
  const teller = makeTeller(model), transport = makeTransport(root, {
    show, end: () => longest.end, steps: () => steps,
    to: (position) => mapping.to(position), from: (f) => mapping.from(f),
    seconds: () => clamp(0.6 * steps.length, 8, even ? 60 : 20),
    text: (position) => `${unit(position)} ${clock}`.trim(),
    rested: (position) => teller.tell(position * longest.tick),
  }, Math.round(model.get("time_s") / longest.tick));
  if (alone) transport.choice("even steps", "give every step the same time; the axis is then not to scale", even, () => { even = !even; build(); return even; });
  transport.enlarge(large, () => { large = !large; build(); return large; });
  if (scenes.some((scene) => scene.critical.length)) transport.choice("critical path", "mark the messages that the run had to wait for", critical, () => { critical = !critical; build(); return critical; });
  const live = html("div", { class: "lm-caption", "aria-live": "polite" }, root), says = scenes.map(() => html("div", {}, live));
  const aside = html("div", { class: "lm-aside" }, root), tip = html("div", { class: "lm-tip", hidden: "" }, root);

  function build(excess = 0) {
    const width = Math.max(320, root.clientWidth - 2), k = large ? 1.5 : 1;
    root.classList.toggle("lm-large", large);
    mapping = makeMapping(longest, even);
    drawn = scenes.map((scene, i) => {
      const ratio = scene.tick / longest.tick;
      const own = { to: (tick) => mapping.to(tick * ratio), from: (f) => mapping.from(f) / ratio };
      const like = { ...scene, unit: longest.unit, clock };
      return makeTimeline(lanes[i], like, [], width, k, own, even, hatch, critical, excess * scene.size / ranks, longest.end / ratio, i === scenes.length - 1);
    });
    const { left, right } = drawn[0], top = (lanes[0].getBoundingClientRect().top - track.getBoundingClientRect().top) / timesOf(root);
    const high = track.clientHeight - top;
    Object.assign(over.style, { top: `${top}px` });
    Object.assign(future.style, { left: `${left}px`, width: `${right - left + 2}px`, top: `${top}px`, height: `${high - 22 * k}px` });
    moveHead = makeHead(over, 8 * k, high - 20 * k, k);  // it ends above the times
    aside.textContent = [even && "even steps: the time axis is not to scale", critical && pathInWords(), ...scenes.map((scene) => scene.thinned)].filter(Boolean).join("; ");
    transport.show();
  }
  function pathInWords() {
    return scenes.map((scene, i) => {
      const n = scene.critical.length, hops = scene.critical.reduce((sum, [, , posted, received]) => sum + received - posted, 0);
      return `${names[i] ? `${names[i]}: ` : ""}critical path of ${n} ${n === 1 ? "message" : "messages"}, under way for ${took(hops * scene.tick)} of ${took(scene.end * scene.tick)}`;
    }).join("; ");
  }

  scenes.forEach((scene, i) => watchLanes(root, lanes[i], tip, scene, () => drawn[i],
    (tick) => transport.seek(tick * scene.tick / longest.tick), (tick) => unit(tick * scene.tick / longest.tick)));
  const follow = () => { const t = Math.round(model.get("time_s") / longest.tick); if (Math.abs(t - transport.position()) > 1) transport.follow(t); };
  model.on("change:time_s", follow);
  const unwatch = watchSize(root, build);
  root.timeline = { time: () => transport.position() * longest.tick, isPlaying: transport.isPlaying };
  return () => { transport.halt(); teller.end(); unwatch(); model.off?.("change:time_s", follow); root.remove(); };
}

// What the marks on the lanes mean: only those that occur.
function drawKeys(keys, scenes, hatch) {
  const key = (text, paint) => {
    const box = html("span", {}, keys);
    paint(draw("svg", { width: 24, height: 14, "aria-hidden": "true" }, box));
    box.append(text);
  };
  const doings = scenes.flatMap((scene) => scene.spans.map((s) => scene.doings[s.doing]));
  const fills = [0, 1, 2, 3, 4].filter((fill) => doings.some(([kind, , , , of]) => kind === "compute" && (of ?? 0) === fill));
  const words = fills.some((fill) => fill) ? ["forward", "backward", "input gradient", "weight gradient", "all-reduce"] : ["computes"];
  for (const fill of fills) key(words[fill], (svg) => draw("rect", { class: "lm-compute", "data-fill": fill, x: 1, y: 1, width: 22, height: 12 }, svg));
  if (doings.some(([kind]) => kind === "wait")) key("waits", (svg) => draw("rect", { x: 1, y: 1, width: 22, height: 12, fill: `url(#${hatch})` }, svg));
  if (scenes.some((scene) => scene.faults.length)) key("fails", (svg) => draw("path", { class: "lm-fault", d: "M6 1l12 12m0 -12l-12 12" }, svg));
  if (scenes.some((scene) => scene.messages.length)) key("a message, from send to receive", (svg) => draw("path", { class: "lm-line", stroke: COLOURS[1], d: "M3 0v6L21 8v6" }, svg));
}
