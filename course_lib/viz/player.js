// The message player: draws the table that course_lib/viz/scene.py makes of a trace.
// Plain ESM for anywidget and for exported pages; no imports, no build.

const SVG = "http://www.w3.org/2000/svg";
const COLOURS = ["#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7"];
const SPEEDS = [0.25, 0.5, 1, 2, 4];
const BOXES = [[150, 76], [116, 64], [80, 50], [60, 42], [44, 34], [32, 26], [22, 19], [15, 14]];
const ICONS = {
  start: "M5 4v12M16 4 7.5 10 16 16z",
  back: "M6 4v12M15.5 4.5v11L8.5 10z",
  play: "M6 4v12l10-6z",
  pause: "M7 4v12M13 4v12",
  on: "M14 4v12M4.5 4.5v11l7-5.5z",
};

// ---- what is where: the same arithmetic as course_lib/viz/moments.py ----

function unpack(packed) {
  let posted = 0, start = 0;
  const messages = packed.src.map((src, i) => {
    posted += packed.posted[i];
    const arrived = packed.flight[i] < 0 ? -1 : posted + packed.flight[i];
    const received = arrived < 0 ? -1 : arrived + packed.pause[i];
    return { index: i, src, dst: packed.dst[i], label: packed.label[i], size: packed.bytes[i],
      posted, arrived, received };
  });
  const spans = packed.rank.map((rank, i) => {
    start += packed.start[i];
    return { rank, doing: packed.doing[i], start, end: start + packed.length[i] };
  });
  const scene = { ...packed, messages, spans };
  const found = new Set([0, packed.end]);
  for (const m of messages) for (const t of [m.posted, m.arrived, m.received]) found.add(t);
  for (const s of spans) found.add(s.start).add(s.end);
  scene.bounds = [0];
  for (const tick of [...found].sort((a, b) => a - b))
    if (tick - scene.bounds.at(-1) > 2) scene.bounds.push(tick);
  scene.steps = scene.bounds.slice(1).map((b, i) => (scene.bounds[i] + b) / 2);
  return scene;
}

function at(scene, tick) {
  const tokens = [], sending = new Set();
  for (const m of scene.messages) {
    if (m.posted > tick) break;
    if (m.arrived < 0) tokens.push({ m, position: 0.5, state: "lost" });
    else if (tick < m.arrived) {
      tokens.push({ m, position: (tick - m.posted) / (m.arrived - m.posted), state: "moving" });
      sending.add(m.src);
    } else if (tick < m.received) tokens.push({ m, position: 1, state: "arrived" });
  }
  const workers = scene.places.map((_, rank) =>
    sending.has(rank) ? { rank, state: "send", word: "sends", progress: 0, doing: -1 }
      : { rank, state: "", word: "", progress: 0, doing: -1 });
  for (const s of scene.spans) {
    if (s.start > tick) break;
    if (tick >= s.end || workers[s.rank].state === "compute") continue;
    const [state, word] = scene.doings[s.doing];
    const progress = state === "compute" ? (tick - s.start) / (s.end - s.start) : 0;
    workers[s.rank] = { rank: s.rank, state, word, progress, doing: s.doing };
  }
  for (const [rank, failed] of scene.faults)
    if (failed <= tick) workers[rank] = { rank, state: "failed", word: "failed", progress: 0, doing: -1 };
  return { workers, tokens };
}

const words = (tag) => tag === null ? "" : typeof tag === "number" ? `chunk ${tag}` : tag;

function caption(scene, tick, { workers, tokens }) {
  if (tick >= scene.end) return `the run is over: ${scene.total}`;
  const parts = [], count = (state) => tokens.filter((t) => t.state === state);
  const moving = count("moving").map(({ m }) =>
    ({ ...m, text: words(scene.labels[m.label][0]), size: scene.sizes[m.size][0] }));
  if (moving.length <= 2) {
    for (const m of moving)
      parts.push(`rank ${m.src} sends ${m.text ? `${m.text}, ${m.size},` : m.size} to rank ${m.dst}`);
  } else {
    const listed = moving.slice(0, 4)
      .map((m) => `${m.src} to ${m.dst}${m.text ? ` (${m.text})` : ""}`).join(", ");
    const more = moving.length > 4 ? ` and ${moving.length - 4} more` : "";
    const drawn = scene.thinned ? "of those drawn, " : "";
    parts.push(`${drawn}${moving.length} messages are on their way: ${listed}${more}`);
  }
  const n = count("arrived").length, lost = count("lost").length;
  if (n) parts.push(n === 1 ? "1 message has arrived and is not yet received"
    : `${n} messages have arrived and are not yet received`);
  if (lost) parts.push(lost === 1 ? "1 message is never received" : `${lost} messages are never received`);
  for (const kind of ["compute", "wait"]) parts.push(...doing(scene, kind, workers));
  for (const [rank, failed, what] of scene.faults)
    if (failed <= tick) parts.push(`rank ${rank} has failed (${what})`);
  return parts.join("; ") || "no rank computes, sends or waits";
}

function doing(scene, kind, workers) {
  const groups = new Map(), busy = workers.filter((w) => w.state === kind);
  for (const w of busy) groups.set(w.doing, [...(groups.get(w.doing) ?? []), w.rank]);
  if (groups.size > 2) return [`${busy.length} ranks ${kind}`];
  return [...groups].map(([number, ranks]) => {
    const [, , one, many] = scene.doings[number];
    if (ranks.length === 1) return `rank ${ranks[0]} ${one}`;
    if (ranks.length > 4) return `${ranks.length} ranks ${many}`;
    return `ranks ${ranks.slice(0, -1).join(", ")} and ${ranks.at(-1)} ${many}`;
  });
}

// ---- drawing ----

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
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

function chooseBox(scene, width, height, k) {
  const fits = ([w, h]) => {
    const gap = w > 70 ? 0.3 * w : 5;
    const at = place(scene, width, height, [w * k, h * k]);
    return at.every((a, i) => at.slice(i + 1).every((b) =>
      Math.abs(a.x - b.x) >= (w + gap) * k || Math.abs(a.y - b.y) >= (h + gap) * k));
  };
  return (BOXES.find(fits) ?? BOXES.at(-1)).map((side) => side * k);
}

const place = (scene, width, height, [w, h]) => scene.places.map(([x, y]) => ({
  x: 14 + w / 2 + x * (width - 28 - w), y: 14 + h / 2 + y * (height - 28 - h) }));

// A bent edge between two boxes: its point at u (0 and 1 are the middles of the boxes), and the
// part of it that lies outside both.
function makeEdge(a, b, bend, [w, h], pad) {
  const cx = (a.x + b.x) / 2 + bend * (b.y - a.y), cy = (a.y + b.y) / 2 - bend * (b.x - a.x);
  const point = (u) => ({
    x: (1 - u) ** 2 * a.x + 2 * u * (1 - u) * cx + u * u * b.x,
    y: (1 - u) ** 2 * a.y + 2 * u * (1 - u) * cy + u * u * b.y });
  const inside = (p, o) => Math.abs(p.x - o.x) < w / 2 + pad && Math.abs(p.y - o.y) < h / 2 + pad;
  let from = 0, to = 1;
  while (from < 0.5 && inside(point(from), a)) from += 0.01;
  while (to > 0.5 && inside(point(to), b)) to -= 0.01;
  const path = `M${a.x} ${a.y}Q${cx} ${cy} ${b.x} ${b.y}`;
  return { path, at(position) {
    const u = from + (to - from) * position, p = point(u), q = point(u + 0.01), o = point(u - 0.01);
    const length = Math.hypot(q.x - o.x, q.y - o.y) || 1;
    return { ...p, dx: (q.x - o.x) / length, dy: (q.y - o.y) / length };
  } };
}

function makeStage(svg, scene, width, k, hatch) {
  svg.replaceChildren();
  const rows = new Set(scene.places.map((p) => p[1])).size, n = scene.size;
  const height = Math.round(k * (rows === 1 ? 190 : n <= 8 ? 300 : n <= 20 ? 380 : 470));
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("height", height);
  const box = chooseBox(scene, width, height, k), [w, h] = box, roomy = w >= 80 * k;
  const spots = place(scene, width, height, box);
  const thick = clamp(h * 0.32, 9 * k, 22 * k), edges = new Map();
  for (const { src, dst } of scene.messages)
    if (!edges.has(src * n + dst))
      edges.set(src * n + dst, makeEdge(spots[src], spots[dst], scene.bend, box, thick * 0.6));
  draw("path", { class: "lm-edge", d: [...edges.values()].map((edge) => edge.path).join("") }, svg);
  const layer = draw("g", {}, svg), shown = new Map();
  const boxes = spots.map((spot, rank) => makeBox(svg, scene, rank, spot, box, k, hatch));

  function makeToken(m) {
    const [tag, colour] = scene.labels[m.label], [size, share] = scene.sizes[m.size];
    const g = draw("g", { class: "lm-token", "data-index": m.index }, layer);
    const length = Math.max(thick * 1.2, share * thick * 2.8);
    const bar = draw("rect", { x: -length / 2, y: -thick / 2, width: length, height: thick,
      rx: thick / 4, fill: COLOURS[colour] }, g);
    const number = typeof tag === "number" && thick >= 11 ? String(tag) : "";
    if (number) draw("text", { class: "lm-number", "font-size": thick * (number.length > 2 ? 0.5 : 0.74),
      fill: colour === 4 ? "#fff" : "#1a1a1a" }, g, number);
    const text = number || tag === null ? size : `${words(tag)}, ${size}`;
    const note = roomy ? draw("text", { class: "lm-note", "font-size": 12.5 * k }, g, fit(text, 170 * k, 6.5 * k)) : null;
    return { g, bar, note };
  }

  return { height, update({ workers, tokens }) {
    const queued = new Map(), here = new Set();
    const crowded = tokens.length > 16;
    for (const { m, position, state } of tokens) {
      here.add(m.index);
      let token = shown.get(m.index);
      if (!token) shown.set(m.index, token = makeToken(m));
      let along = position;
      if (state === "arrived") {
        const key = m.src * n + m.dst, before = queued.get(key) ?? 0;
        queued.set(key, before + 1);
        along = Math.max(0.3, 1 - 0.1 * before);
      }
      const p = edges.get(m.src * n + m.dst).at(along);
      token.g.setAttribute("transform", `translate(${p.x.toFixed(1)} ${p.y.toFixed(1)})`);
      token.bar.setAttribute("transform", `rotate(${(Math.atan2(p.dy, p.dx) * 180 / Math.PI).toFixed(1)})`);
      token.g.classList.toggle("lm-lost", state === "lost");
      if (!token.note) continue;
      const out = thick / 2 + 9 * k, nx = p.dy, ny = -p.dx;
      token.note.setAttribute("x", (nx * (out + 4 * k)).toFixed(1));
      token.note.setAttribute("y", (ny * out).toFixed(1));
      token.note.setAttribute("text-anchor", nx > 0.35 ? "start" : nx < -0.35 ? "end" : "middle");
      token.note.setAttribute("opacity", crowded || state === "arrived" ? 0 : clamp(8 * Math.min(position, 1 - position), 0, 1));
    }
    for (const [index, token] of shown) if (!here.has(index)) { token.g.remove(); shown.delete(index); }
    for (const worker of workers) boxes[worker.rank](worker);
  } };
}

function makeBox(svg, scene, rank, spot, [w, h], k, hatch) {
  const role = scene.roles[rank], g = draw("g", { class: "lm-box", transform: `translate(${spot.x} ${spot.y})` }, svg);
  const shape = (inset, name, fill) => draw("rect", { class: name, x: -w / 2 + inset, y: -h / 2 + inset,
    width: w - 2 * inset, height: h - 2 * inset, rx: role ? 2 : Math.min(10 * k, h / 4), ...fill }, g);
  shape(0, "lm-ground");
  shape(0, "lm-hatch", { fill: `url(#${hatch})` });
  if (role && w > 40) shape(4, "lm-inner");
  const roomy = w >= 80 * k, big = w >= 116 * k;
  const name = draw("text", { class: "lm-rank", y: roomy ? -h * 0.13 : 0,
    "font-size": roomy ? h * 0.36 : Math.min(h * 0.62, w * 0.55) }, g);
  if (big) {
    if (!role) draw("tspan", { class: "lm-small", "font-size": 13 * k }, name, "rank ");
    draw("tspan", {}, name, rank);
    if (role) draw("tspan", { class: "lm-small", "font-size": 13 * k }, name, ` ${fit(role, w - h * 0.6, 7 * k)}`);
  } else name.textContent = rank;
  const letter = (big ? 13 : 11) * k;
  const word = roomy ? draw("text", { class: "lm-word", y: h * 0.27, "font-size": letter }, g) : null;
  const bar = draw("rect", { class: "lm-progress", x: -w / 2 + 3, y: h / 2 - 6 * Math.min(k, h / 30),
    height: 3 * Math.min(k, h / 30), width: 0 }, g);
  draw("path", { class: "lm-cross", d: `M${-w / 2} ${-h / 2}L${w / 2} ${h / 2}M${-w / 2} ${h / 2}L${w / 2} ${-h / 2}` }, g);
  let now = "";
  return ({ state, word: text, progress }) => {
    if (now !== state + text) {
      now = state + text;
      g.setAttribute("data-state", state);
      if (word) word.textContent = fit(text, w - 6 * k, letter * 0.54);
    }
    bar.setAttribute("width", (progress * (w - 6)).toFixed(1));
  };
}

// How ticks lie on the screen: by the clock, or every step as wide as the next.
function makeMapping(scene, even) {
  const { bounds, end } = scene, n = bounds.length - 1;
  if (!even || n < 1) return { to: (tick) => tick / (end || 1), from: (f) => f * end };
  return {
    to(tick) {
      let low = 0, high = n - 1;
      while (low < high) { const mid = (low + high + 1) >> 1; if (bounds[mid] <= tick) low = mid; else high = mid - 1; }
      return (low + clamp((tick - bounds[low]) / (bounds[low + 1] - bounds[low]), 0, 1)) / n;
    },
    from(f) {
      const i = clamp(Math.floor(f * n), 0, n - 1);
      return bounds[i] + (f * n - i) * (bounds[i + 1] - bounds[i]);
    },
  };
}

function niceTimes(scene) {
  const most = scene.end * scene.tick / scene.unit[0], rough = most / 8 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= rough);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, i) => i * step);
}

function makeTimeline(svg, scene, curves, width, k, mapping, even, hatch) {
  svg.replaceChildren();
  const n = scene.size, lane = k * (n <= 8 ? 24 : n <= 20 ? 15 : 7), top = 8 * k, font = 12 * k;
  const left = 46 * k, right = width - (n <= 20 ? 78 : 12) * k, foot = top + n * lane;
  const graph = curves.length ? 90 * k : 0, low = foot + 26 * k + graph, height = low + (graph ? 6 : 2) * k;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("height", height);
  const x = (tick) => left + mapping.to(tick) * (right - left), y = (rank) => top + (rank + 0.5) * lane;
  const text = (value, attributes, name = "lm-tick") => draw("text", { class: name, "font-size": font, ...attributes }, svg, value);
  const paths = { compute: "", wait: "" }, bar = 0.62 * lane, names = [];
  for (const s of scene.spans) {
    const [kind, word] = scene.doings[s.doing], a = x(s.start), wide = x(s.end) - a;
    paths[kind] += `M${a.toFixed(1)} ${y(s.rank) - bar / 2}h${wide.toFixed(1)}v${bar}h${-wide.toFixed(1)}z`;
    if (kind === "compute" && lane > 12 && names.length < 150) names.push([fit(word, wide - 4, 5.6 * k), a + wide / 2, y(s.rank)]);
  }
  for (let rank = 0; rank < n; rank++) {
    draw("path", { class: "lm-lane", d: `M${left} ${y(rank)}H${right}` }, svg);
    if (n > 20 && rank % 8) continue;
    text(n > 20 || lane < 20 ? rank : `rank ${rank}`, { x: left - 6 * k, y: y(rank), "text-anchor": "end", "font-size": Math.min(font, lane * (n > 20 ? 1.5 : 0.8)) });
    if (n <= 20) text(`${Math.round(100 * scene.shares[rank][0])} % busy`, { x: right + 6 * k, y: y(rank), "font-size": Math.min(font, lane * 0.8) });
  }
  draw("path", { class: "lm-wait", d: paths.wait, fill: `url(#${hatch})` }, svg);
  draw("path", { class: "lm-compute", d: paths.compute }, svg);
  for (const [word, cx, cy] of names) if (word) text(word, { x: cx, y: cy, "text-anchor": "middle", "font-size": Math.min(11 * k, bar * 0.8) }, "lm-name");
  const lines = COLOURS.map(() => "");
  for (const m of scene.messages) {
    const a = x(m.posted), b = x(m.arrived), up = m.dst > m.src ? 1 : -1, edge = up * bar / 2;
    lines[scene.labels[m.label][1]] += `M${a.toFixed(1)} ${y(m.src) - bar / 2}v${bar}` +
      (m.arrived < 0 ? "" : `M${a.toFixed(1)} ${y(m.src) + edge}L${b.toFixed(1)} ${y(m.dst) - edge}v${up * bar}`);
  }
  lines.forEach((d, i) => d && draw("path", { class: "lm-line", d, stroke: COLOURS[i], opacity: scene.messages.length > 400 ? 0.6 : 1 }, svg));
  const every = Math.ceil(scene.bounds.length / 8);
  const times = even ? scene.bounds.filter((_, i) => i % every === 0).map((t) => t * scene.tick / scene.unit[0]) : niceTimes(scene);
  for (const time of times) {
    const at = x(time * scene.unit[0] / scene.tick);
    draw("path", { class: "lm-lane", d: `M${at} ${foot}v${5 * k}` }, svg);
    text(+time.toPrecision(3), { x: at, y: foot + 14 * k, "text-anchor": "middle" });
  }
  text(`${scene.clock} ${scene.unit[1]}`, { x: n <= 20 ? right + 6 * k : left - 6 * k, y: foot + 14 * k, "text-anchor": n <= 20 ? "start" : "end", "font-size": n <= 20 ? font : 8.5 * k });
  const legend = makeCurves(svg, scene, curves, x, left, right, low - graph + 8 * k, low - 4 * k, k);
  const head = draw("g", { class: "lm-head" }, svg);
  draw("path", { d: `M0 ${top}V${low}` }, head);
  draw("path", { class: "lm-grip", d: `M${-6 * k} 0h${12 * k}l${-6 * k} ${9 * k}z` }, head);
  return {
    update(tick) { head.setAttribute("transform", `translate(${x(tick).toFixed(1)} 0)`); legend(tick); },
    tickAt: (px) => mapping.from(clamp((px - left) / (right - left), 0, 1)),
    rankAt: (py) => { const rank = Math.floor((py - top) / lane); return rank >= 0 && rank < n ? rank : -1; },
    x,
  };
}

function makeCurves(svg, scene, curves, x, left, right, top, low, k) {
  const all = curves.flatMap((c) => c.v), least = Math.min(...all), most = Math.max(...all);
  if (!all.length) return () => {};
  const y = (value) => low - (most > least ? (value - least) / (most - least) : 0.5) * (low - top);
  for (const value of new Set([most, least]))
    draw("text", { class: "lm-tick", "font-size": 11 * k, x: left - 6 * k, y: y(value), "text-anchor": "end" }, svg, +value.toPrecision(3));
  draw("path", { class: "lm-lane", d: `M${left} ${top}V${low}H${right}` }, svg);
  const marks = curves.map((c, i) => {
    const colour = COLOURS[(i + 4) % 7], dash = ["", `${6 * k} ${4 * k}`, `${2 * k} ${3 * k}`][i % 3];
    draw("path", { class: "lm-curve", d: c.t.map((t, j) => `${j ? "L" : "M"}${x(t).toFixed(1)} ${y(c.v[j]).toFixed(1)}`).join(""), stroke: colour, "stroke-dasharray": dash }, svg);
    const dot = draw("circle", { r: 5 * k, fill: colour, class: "lm-dot" }, svg);
    const name = draw("text", { class: "lm-legend", "font-size": 12 * k, x: right - 8 * k, y: top + (6 + 15 * i) * k, "text-anchor": "end" }, svg);
    return { c, dot, name };
  });
  return (tick) => marks.forEach(({ c, dot, name }) => {
    let j = -1;
    while (j + 1 < c.t.length && c.t[j + 1] <= tick) j++;
    dot.setAttribute("display", j < 0 ? "none" : "");
    name.textContent = j < 0 ? c.name : `${c.name} ${c.v[j].toPrecision(4)}`;
    if (j >= 0) { dot.setAttribute("cx", x(c.t[j])); dot.setAttribute("cy", y(c.v[j])); }
  });
}

// ---- the widget ----

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
  const lineSvg = draw("svg", { class: "lm-timeline", width: "100%", role: "img", "aria-label": `timeline of ${scene.total}` }, root);
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
  const says = html("div", { class: "lm-caption", "aria-live": "polite" }, root);
  const aside = html("div", { class: "lm-aside" }, root);
  const tip = html("div", { class: "lm-tip", hidden: "" }, root);

  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const unit = (tick) => `${(tick * scene.tick / scene.unit[0]).toFixed(2)} ${scene.unit[1]}`;
  let tick = clamp(Math.round(model.get("time_s") / scene.tick), 0, scene.end);
  let speed = 1, playing = false, goal = null, request = 0, timer = 0, last = 0, said = null, stage, timeline, mapping;

  function build() {
    const width = Math.max(320, root.clientWidth - 2), k = large ? 1.5 : 1;
    root.classList.toggle("lm-large", large);
    mapping = makeMapping(scene, even);
    stage = makeStage(stageSvg, scene, width, k, hatch);
    timeline = makeTimeline(lineSvg, scene, curves, width, k, mapping, even, hatch);
    aside.textContent = [even && "even steps: the time axis is not to scale", scene.thinned].filter(Boolean).join("; ");
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
    const seconds = Math.min(0.1, (now - last) / 1000), f = mapping.to(tick);
    last = now;
    if (goal !== null) {
      const aim = mapping.to(goal), rest = aim - f, pace = Math.max(Math.abs(rest) * 6, 0.02) * seconds;
      if (Math.abs(rest) <= pace) { tick = goal; goal = null; } else tick = mapping.from(f + Math.sign(rest) * pace);
    } else tick = Math.min(scene.end, mapping.from(Math.min(1, f + seconds / duration())));
    show();
    if (goal === null && (!playing || tick >= scene.end)) rest(); else request = requestAnimationFrame(frame);
  }
  function move() { if (!request) { last = performance.now(); request = requestAnimationFrame(frame); } }
  function rest() {
    cancelAnimationFrame(request); clearInterval(timer);
    request = timer = 0; goal = null; playing = false; face();
    model.set("time_s", tick * scene.tick); model.save_changes?.();
  }
  function face() {
    playButton.setAttribute("aria-label", playing ? "pause" : "play");
    playButton.title = playing ? "pause" : "play";
    playButton.querySelector("path").setAttribute("d", playing ? ICONS.pause : ICONS.play);
  }
  function toggle() {
    if (playing) return rest();
    rest();
    if (tick >= scene.end) tick = 0;
    playing = true; face();
    if (still.matches) timer = setInterval(() => { if (!hop(1)) rest(); }, 1000 / speed);
    else move();
  }
  function seek(to) { rest(); tick = clamp(to, 0, scene.end); show(); rest(); }
  function next(way, from) {
    const slack = scene.end * 1e-9;
    return way > 0 ? scene.steps.find((s) => s > from + slack) ?? scene.end : scene.steps.findLast((s) => s < from - slack) ?? 0;
  }
  function hop(way) { tick = next(way, tick); show(); return tick < scene.end; }
  function step(way) {
    const to = next(way, goal ?? tick);
    if (playing || still.matches) { rest(); tick = to; show(); rest(); } else { goal = to; move(); }
  }
  function setSpeed(value) {
    speed = value; pick.value = value;
    if (playing && still.matches) { rest(); toggle(); }
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
  root.player = { scene, at: (time_s) => at(scene, time_s / scene.tick), say: (time_s) => caption(scene, time_s / scene.tick, at(scene, time_s / scene.tick)),
    seek: (time_s) => seek(time_s / scene.tick), time: () => tick * scene.tick, isPlaying: () => playing };
  return () => { cancelAnimationFrame(request); clearInterval(timer); watch.disconnect(); model.off?.("change:time_s", follow); root.remove(); };
}

// What lies under the pointer on a lane: a message that begins or ends there, else what the rank does.
function detail(scene, tick, rank, unit, near) {
  if (rank < 0) return "";
  const m = scene.messages.find((m) => m.arrived >= 0 &&
    ((m.src === rank && Math.abs(m.posted - tick) < near) || (m.dst === rank && Math.abs(m.arrived - tick) < near)));
  if (m) {
    const name = words(scene.labels[m.label][0]);
    return `rank ${m.src} to rank ${m.dst}${name ? `: ${name}` : ""}, ${scene.sizes[m.size][0]}; sent at ${unit(m.posted)}, took ${unit(m.arrived - m.posted)}`;
  }
  const s = scene.spans.find((s) => s.rank === rank && s.start <= tick && tick < s.end);
  return s ? `rank ${rank} ${scene.doings[s.doing][2]}; from ${unit(s.start)}, for ${unit(s.end - s.start)}` : "";
}

export default { render };
