// The timeline of a run: lanes, messages, curves, and the playhead that runs through them.

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

function niceTimes(scene, whole) {
  const most = whole * scene.tick / scene.unit[0], rough = most / 8 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= rough);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, i) => i * step);
}

// Draws the lanes of a run; `whole` is where the axis ends (in ticks), `named` whether it has its times;
// `excess` is by how much lower it has to be than it would be.
function makeTimeline(svg, scene, curves, width, k, mapping, even, hatch, critical, excess, whole = scene.end, named = true) {
  svg.replaceChildren();
  const n = scene.size, most = k * (n <= 8 ? 24 : n <= 20 ? 15 : n <= 128 ? 5 : 640 / n), top = 8 * k, font = 12 * k;
  const lane = n > 20 ? most : clamp(most - excess / n, 13 * k, most);
  const left = Math.max(46, ...scene.roles.map((role) => 8.2 * role.length + 8)) * k, right = width - 100 * k, foot = top + n * lane;
  const graph = curves.length ? 90 * k : 0, low = foot + (named ? 26 : 6) * k + graph, height = low + (graph ? 6 : 2) * k;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("height", height);
  const x = (tick) => left + mapping.to(tick) * (right - left), y = (rank) => top + (rank + 0.5) * lane;
  const text = (value, attributes, name = "lm-tick") => draw("text", { class: name, "font-size": font, ...attributes }, svg, value);
  const waits = [], fills = [[], [], [], [], []], bar = 0.62 * lane, inBar = readable(Math.min(11 * k, bar * 0.8)), names = [], busy = scene.shares.some(([share]) => share > 0);
  for (const s of scene.spans) {
    const [kind, word, , , fill] = scene.doings[s.doing], a = x(s.start), wide = x(s.end) - a;
    (kind === "wait" ? waits : fills[fill]).push(`M${a.toFixed(1)} ${y(s.rank) - bar / 2}h${wide.toFixed(1)}v${bar}h${-wide.toFixed(1)}z`);
    if (kind === "compute" && bar >= 1.1 * LEAST_TYPE && lane > 12 && names.length < 150) names.push([lastWord(word, wide - 4, 0.51 * Math.max(inBar, 11 * k)), a + wide / 2, y(s.rank), fill]);
  }
  for (let rank = 0; rank < n; rank++) {
    draw("path", { class: "lm-lane", d: `M${left} ${y(rank)}H${x(scene.end)}` }, svg);
    if (n > 20 && rank % Math.max(8, Math.ceil(n / 16))) continue;
    text(scene.roles[rank] || (n > 20 || lane < 20 ? rank : `rank ${rank}`), { x: left - 6 * k, y: y(rank), "text-anchor": "end", "font-size": readable(n > 20 ? Math.min(font, 10 * k) : Math.min(font, lane * 0.8)) });
    if (n <= 20 && busy) text(`${Math.round(100 * scene.shares[rank][0])} % busy`, { x: right + 6 * k, y: y(rank), "font-size": readable(Math.min(font, lane * 0.8)) });
  }
  draw("path", { class: "lm-wait", d: waits.join(""), ...(n > 20 ? { fill: "var(--line)", opacity: 0.4, stroke: "none" } : { fill: `url(#${hatch})` }) }, svg);
  const passes = fills.some((fill, i) => i && fill.length) ? { stroke: "var(--ground)", "stroke-width": 0.8 } : {};
  fills.forEach((fill, i) => fill.length && draw("path", { class: "lm-compute", "data-fill": i, d: fill.join(""), ...passes }, svg));
  const lines = COLOURS.map(() => "");
  for (const m of scene.messages) {
    const a = x(m.posted), b = x(m.arrived), up = m.dst > m.src ? 1 : -1, edge = up * bar / 2;
    lines[scene.labels[m.label][1]] += `M${a.toFixed(1)} ${y(m.src) - bar / 2}v${bar}` +
      (m.arrived < 0 ? "" : `M${a.toFixed(1)} ${y(m.src) + edge}L${b.toFixed(1)} ${y(m.dst) - edge}v${up * bar}`);
  }
  lines.forEach((d, i) => d && draw("path", { class: "lm-line", d, stroke: COLOURS[i], opacity: scene.messages.length > 400 ? 0.6 : 1 }, svg));
  for (const [word, cx, cy, fill] of names)
    if (word) text(word, { x: cx, y: cy, "text-anchor": "middle", "font-size": inBar, "data-fill": fill }, "lm-name");
  drawMarks(svg, scene, x, y, bar, k, right);
  const arm = Math.min(bar / 2, 7 * k), cross = (at, mid) => `M${at - arm} ${mid - arm}l${2 * arm} ${2 * arm}m0 ${-2 * arm}l${-2 * arm} ${2 * arm}`;
  const failed = scene.faults.filter(([, , kind]) => kind !== "Restart");
  draw("path", { class: "lm-fault", d: failed.map(([rank, tick]) => cross(x(tick), y(rank))).join("") }, svg);
  if (critical) drawCritical(svg, scene, x, (rank) => y(rank) + bar / 2);
  const every = Math.ceil(scene.bounds.length / 8);
  const times = even ? scene.bounds.filter((_, i) => i % every === 0).map((t) => t * scene.tick / scene.unit[0]) : niceTimes(scene, whole);
  for (const time of times) {
    const at = x(time * scene.unit[0] / scene.tick);
    draw("path", { class: "lm-lane", d: `M${at} ${foot}v${5 * k}` }, svg);
    if (named) text(+time.toPrecision(3), { x: at, y: foot + 14 * k, "text-anchor": "middle" });
  }
  if (named) text(`${scene.clock} ${scene.unit[1]}`.trim(), { x: right + 18 * k, y: foot + 14 * k });
  const legend = makeCurves(svg, scene, curves, x, left, right, low - graph + 8 * k, low - 4 * k, k);
  return {
    left, right, top, low, x, legend,
    tickAt: (px) => mapping.from(clamp((px - left) / (right - left), 0, 1)),
    rankAt: (py) => { const rank = Math.floor((py - top) / lane); return rank >= 0 && rank < n ? rank : -1; },
  };
}

// The playhead is a picture of its own, so that moving it does not paint the timeline again.
function makeHead(over, top, low, k) {
  over.replaceChildren();
  over.setAttribute("width", 14 * k);
  over.setAttribute("height", Math.max(low, 0));  // below 0 while it is hidden
  draw("path", { d: `M${7 * k} ${top}V${low}` }, over);
  draw("path", { class: "lm-grip", d: `M${k} 0h${12 * k}l${-6 * k} ${9 * k}z` }, over);
  return (x) => { over.style.transform = `translateX(${(x - 7 * k).toFixed(1)}px)`; };
}

// Dragging on the lanes seeks, and what lies under the pointer is told. `lanes()` is the timeline as it
// is drawn now, `seek(tick)` goes there.
function watchLanes(root, svg, tip, scene, lanes, seek, unit) {
  const point = (event) => { const r = svg.getBoundingClientRect(), k = timesOf(root); return [(event.clientX - r.left) / k, (event.clientY - r.top) / k]; };
  svg.addEventListener("pointerdown", (event) => { svg.setPointerCapture(event.pointerId); root.focus({ preventScroll: true }); seek(lanes().tickAt(point(event)[0])); });
  svg.addEventListener("pointermove", (event) => {
    const [px, py] = point(event), { tickAt, rankAt } = lanes();
    if (event.buttons) seek(tickAt(px));
    const text = detail(scene, tickAt(px), rankAt(py), unit, Math.abs(tickAt(px + 3) - tickAt(px - 3)));
    tip.hidden = !text; tip.textContent = text;
    tip.style.left = `${clamp(px + 12, 0, root.clientWidth - 240)}px`;
    tip.style.top = `${(svg.getBoundingClientRect().top - root.getBoundingClientRect().top) / timesOf(root) + py + 18}px`;
  });
  svg.addEventListener("pointerleave", () => { tip.hidden = true; });
}

// What ranks have noted, in words where there is room; at the end of a lane before its mark. The oldest
// gradient first: a name stands in place of marks that have less to say, never of their names.
function drawMarks(svg, scene, x, y, bar, k, right) {
  const size = readable(Math.min(10 * k, bar * 0.8)), muchOf = (said) => Math.max(0, ...[...said.matchAll(/(\d+) (?:old|lost|dropped)/g)].map(([, n]) => +n));
  const told = [...scene.marks].reverse().filter(([, , saying]) => saying >= 0).map(([rank, tick, saying]) => {
    const said = scene.sayings[saying][0];
    return { rank, said, at: x(tick), top: y(rank) - bar / 2, much: muchOf(said), wide: (said.length + 2) * 0.55 * size };
  }).sort((a, b) => b.much - a.much), taken = [];
  for (const mark of told) {
    const { rank, said, at, top, wide } = mark, before = at + wide >= right + 20 * k && at - wide > x(0);
    const [from, to] = before ? [at - wide, at] : [at, at + wide];
    const covers = !before && told.some((other) => other !== mark && other.rank === rank && other.much >= mark.much && other.at >= from && other.at <= to);
    if (bar <= 8 || to >= right + 20 * k || covers || taken.some((one) => one.rank === rank && one.from < to && from < one.to)) continue;
    taken.push({ rank, from, to });
    draw("text", { class: "lm-note", x: at + (before ? -6 : 6) * k, y: top - 2 * k, "font-size": size, "text-anchor": before ? "end" : "start" }, svg, said);
  }
  for (const { rank, at, top } of told)
    if (!taken.some((one) => one.rank === rank && one.from < at && at < one.to)) draw("path", { class: "lm-mark", d: `M${at} ${top + 3 * k}l${-4 * k} ${-6 * k}h${8 * k}z` }, svg);
}

// The chain of messages that the run had to wait for, and the rank's time between two of them; along
// the lower edge of the lanes, so that it strikes out no names.
function drawCritical(svg, scene, x, y) {
  const way = scene.critical.map(([src, dst, start, received, by], i) =>
    `${i ? "L" : `M${x(0)} ${y(by)}L`}${x(start).toFixed(1)} ${y(by)}V${y(src)}L${x(received).toFixed(1)} ${y(dst)}`);
  const [, last, , end] = scene.critical.at(-1) ?? [];
  const rest = scene.spans.filter((s) => s.rank === last && s.end > end && scene.doings[s.doing][0] === "compute").at(-1);
  draw("path", { class: "lm-critical", d: way.join("") + (rest ? `H${x(rest.end).toFixed(1)}` : "") }, svg);
}

const digits = (value, most) => value.toLocaleString("en", { maximumSignificantDigits: most });

function makeCurves(svg, scene, curves, x, left, right, top, low, k) {
  const all = curves.flatMap((c) => c.v).filter((v) => v !== null), least = Math.min(...all), most = Math.max(...all);
  if (!all.length) return () => {};
  const y = (value) => low - (most > least ? (value - least) / (most - least) : 0.5) * (low - top);
  for (const value of new Set([most, least]))
    draw("text", { class: "lm-tick", "font-size": readable(11 * k), x: left - 6 * k, y: y(value), "text-anchor": "end" }, svg, digits(value, 3));
  draw("path", { class: "lm-lane", d: `M${left} ${top}V${low}H${right}` }, svg);
  const marks = curves.map((c, i) => {
    const colour = COLOURS[CURVE_ORDER[i % 7]], dash = ["", `${6 * k} ${4 * k}`, `${2 * k} ${3 * k}`][i % 3];
    draw("path", { class: "lm-curve", d: curvePath(c.t, c.v, x, y), stroke: colour, "stroke-dasharray": dash }, svg);
    drawGaps(svg, c.gaps, x, top, low, colour, k);
    const dot = draw("circle", { r: 5 * k, fill: colour, class: "lm-dot" }, svg);
    const name = draw("text", { class: "lm-legend", "font-size": 12 * k, x: right - 8 * k, y: top + (6 + 15 * i) * k, "text-anchor": "end" }, svg);
    return { c, dot, name, shown: null };
  });
  return (tick) => marks.forEach((mark) => {
    const { c, dot, name } = mark;
    let j = -1;
    while (j + 1 < c.t.length && c.t[j + 1] <= tick) j++;
    if (j === mark.shown) return;
    mark.shown = j;
    const isThere = j >= 0 && c.v[j] !== null;
    dot.setAttribute("display", isThere ? "" : "none");
    name.textContent = j < 0 ? c.name : `${c.name} ${isThere ? digits(c.v[j], 4) : NO_NUMBER}`;
    if (isThere) { dot.setAttribute("cx", x(c.t[j])); dot.setAttribute("cy", y(c.v[j])); }
  });
}

// What lies under the pointer on a lane: a message that begins or ends there, else what the rank does.
function detail(scene, tick, rank, unit, near) {
  if (rank < 0) return "";
  const m = scene.messages.find((m) => m.arrived >= 0 &&
    ((m.src === rank && Math.abs(m.posted - tick) < near) || (m.dst === rank && Math.abs(m.arrived - tick) < near)));
  if (m) {
    const name = words(scene.labels[m.label][0], scene.called);
    return `rank ${m.src} to rank ${m.dst}${name ? `: ${name}` : ""}, ${scene.sizes[m.size][0]}; sent at ${unit(m.posted)}, took ${unit(m.arrived - m.posted)}`;
  }
  const s = scene.spans.find((s) => s.rank === rank && s.start <= tick && tick < s.end);
  if (!s) return "";
  const [, word, one] = scene.doings[s.doing], role = scene.roles[rank];
  return `${role ? `${role}: ${word}` : `rank ${rank} ${one}`}; from ${unit(s.start)}, for ${unit(s.end - s.start)}`;
}
