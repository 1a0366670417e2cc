// A worker's buffer as a strip of cells, one a chunk, each filled by the contributions it holds.

// Where the strip lies in a box, from the box's middle; what else there is room for.
function stripIn([w, h], n, k) {
  const pad = Math.min(8 * k, w * 0.08), wide = w - 2 * pad;
  if (h <= 28 * k) return { x: -w / 2 + 2, y: -h / 2 + 2, wide: w - 4, high: h - 4, name: 0, ground: true };
  const cell = wide / n, counted = h >= 80 * k && n > 1 && cell >= 24 * k;
  const [name, top, low] = h >= 80 * k ? [-0.34, -0.18, counted ? 0.14 : 0.24] : h >= 56 * k ? [-0.31, -0.1, 0.26] : [-0.24, 0.02, 0.42];
  return { x: -w / 2 + pad, y: top * h, wide, high: (low - top) * h, name: name * h,
    word: h >= 56 * k ? 0.39 * h : null, counts: counted ? 0.225 * h : null };
}

const colourOf = (scene, cell) => scene.goals.length === 1 ? 1 : cell % COLOURS.length;
const TICK = "M-5 0L-1.5 4L5 -4";

function makeStrip(g, scene, strip, k) {
  draw("rect", { class: "lm-paper", x: strip.x, y: strip.y, width: strip.wide, height: strip.high }, g);
  const n = scene.goals.length, wide = strip.wide / n, small = Math.min(strip.high * 0.5, wide * 0.6, 16 * k), size = readable(small);
  const fits = strip.high >= size && wide >= 0.6 * size * (n > 1 ? `${n - 1}`.length : 1) + 1;
  const isNamed = !strip.ground && (LEAST_TYPE ? fits : small >= 6.5 * k);
  const cells = scene.goals.map((goal, cell) => {
    const x = strip.x + cell * wide, middle = x + wide / 2, colour = COLOURS[colourOf(scene, cell)];
    const gap = wide > 12 ? 1 : 0.25;
    const box = draw("g", { class: "lm-cell", "data-cell": cell }, g);
    const at = { x: x + gap, width: wide - 2 * gap };
    draw("rect", { class: "lm-empty", ...at, y: strip.y, height: strip.high, fill: colour, stroke: colour }, box);
    const bar = draw("rect", { ...at, fill: colour }, box);
    const name = isNamed ? draw("text", { class: "lm-chunk", x: middle, y: strip.y + strip.high / 2, "font-size": size }, box) : null;
    const count = strip.counts ? draw("text", { class: "lm-count", x: middle, y: strip.counts, "font-size": readable(11 * k) }, box) : null;
    const tick = draw("path", { class: "lm-tick-mark", d: TICK, visibility: "hidden",
      transform: `translate(${middle} ${strip.counts ?? strip.y + strip.high / 2}) scale(${k * (strip.counts ? 0.9 : 1.2)})` }, box);
    let now = null;
    return (level) => {
      if (level === now) return;
      now = level;
      const part = level < 0 ? 1 : goal ? level / goal : 0, high = strip.high * part, full = level === goal;
      bar.setAttribute("y", strip.y + strip.high - high);
      bar.setAttribute("height", high);
      box.setAttribute("data-state", level < 0 ? "wrong" : full ? "full" : part >= 0.6 ? "most" : "part");
      const many = goal > 1 ? `${level}/${goal}` : "", text = level < 0 ? (level === -2 ? "2×" : "?") : many;
      if (name) name.textContent = n > 1 ? (level < 0 ? text : cell) : full ? "" : text;
      if (name) name.style.fill = level >= 0 && part >= 0.6 ? (colourOf(scene, cell) === 4 ? "#fff" : "#1a1a1a") : "";
      if (count) count.textContent = full ? "" : text;
      tick.setAttribute("visibility", full && !scene.called && (count || (n === 1 && name)) ? "visible" : "hidden");
    };
  });
  return (levels) => levels.forEach((level, cell) => cells[cell](level));
}

// The hosts' frames, behind everything.
function drawHosts(svg, scene, spots, [w, h], k) {
  scene.hosts.forEach((ranks, host) => {
    const xs = ranks.map((rank) => spots[rank].x), ys = ranks.map((rank) => spots[rank].y);
    const [left, right] = [Math.min(...xs) - w / 2, Math.max(...xs) + w / 2], [top, low] = [Math.min(...ys) - h / 2, Math.max(...ys) + h / 2];
    const pad = 12 * k, y = Math.max(1, top - pad);
    draw("rect", { class: "lm-host", x: left - pad, y, width: right - left + 2 * pad, height: low + 20 * k - y, rx: 6 * k }, svg);
    draw("text", { class: "lm-tick", x: left - pad + 6 * k, y: low + 11 * k, "font-size": readable(11 * k) }, svg, `${scene.named ? "worker" : "host"} ${host}`);
  });
}
