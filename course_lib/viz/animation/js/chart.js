// A chart that follows its settings: curves over an axis, or bars with their values.

function renderChart({ model, el }) {
  const chart = model.get("chart"), title = model.get("title");
  const names = chart.bars?.map(([name]) => name) ?? [...new Set(chart.lines.map((line) => line.name))];
  const hasGaps = chart.lines?.some((line) => line.gaps) ?? false;
  const told = (chart.said || [title, ...names].filter(Boolean).join("; ") || "no curves") + (hasGaps ? `; a cross: ${NO_NUMBER}` : "");
  const { root } = makeRoot(el, "chart", `chart: ${title || told}`);
  if (title) html("div", { class: "lm-title" }, root, title);
  const svg = draw("svg", { width: "100%", role: "img", "aria-label": told }, root);
  const charts = [[svg, chart, 34]];
  if (chart.under) charts.push([draw("svg", { width: "100%", role: "img", "aria-label": chart.under.x_label || chart.under.y_label }, root), chart.under, 22]);
  if (chart.below) drawBelow(root, chart.below);
  if (chart.said) html("div", { class: "lm-caption", "aria-live": "polite" }, root, chart.said);
  let large = model.get("large") ?? false;
  const bar = html("div", { class: "lm-bar lm-enlarge" }, root);
  const enlarge = html("button", { type: "button", title: "larger type, for a lecture room", "aria-pressed": String(large) }, bar, "large");
  enlarge.addEventListener("click", () => { large = !large; model.set("large", large); build(); });
  function build(excess = 0) {
    // What is drawn for a narrower page and shown on this one is larger in everything.
    const width = Math.max(320, (root.clientWidth - 2) / (large ? 1.5 : 1));
    root.classList.toggle("lm-large", large);
    enlarge.setAttribute("aria-pressed", String(large));
    let rest = excess / (large ? 1.5 : 1);
    for (const [node, data, lane] of charts) {
      const lower = Math.min(rest, data.bars ? data.bars.length * (lane - 19) : 150);
      rest -= lower;
      node.replaceChildren();
      if (data.bars) drawBars(node, data, width, lane - lower / data.bars.length); else drawLines(node, data, width, 330 - lower);
      if (large) node.setAttribute("height", 1.5 * node.getAttribute("height"));
    }
  }
  const unwatch = watchSize(root, build);
  return () => { unwatch(); root.remove(); };
}

function drawLines(svg, chart, width, height) {
  const right = width - 16, top = 14, low = height - 46;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("height", height);
  const [x0, x1] = chart.x_range, [y0, y1] = chart.y_range;
  // "1e+15" needs more room than "400": the axis' name stands left of it.
  const left = Math.max(66, 31 + 7.8 * Math.max(...axis(y0, y1, chart.y_log).map((at) => short(at).length)));
  const x = scaleOf(x0, x1, chart.x_log, left, right), y = scaleOf(y0, y1, chart.y_log, low, top);
  const tick = (at, text, more) => draw("text", { class: "lm-tick", "font-size": 12, ...at, ...more }, svg, text);
  if (chart.band) {
    const [a, b, text] = chart.band, high = Math.min(y(a), y(b)), deep = Math.abs(y(a) - y(b));
    draw("rect", { class: "lm-band", x: left, y: high, width: right - left, height: Math.max(deep, 1.5) }, svg);
    const wide = 7 * text.length, places = [left + 8, right - wide - 8, (left + right - wide) / 2];
    if (text) tick({ x: leastCrowded(chart, x, y, places.map((at) => [at, high + deep / 2 - 6]), wide, 12)[0], y: high + deep / 2 }, text);
  }
  for (const at of axis(y0, y1, chart.y_log)) {
    draw("path", { class: "lm-lane", d: `M${left} ${y(at)}H${right}`, "stroke-dasharray": "1 3" }, svg);
    tick({ x: left - 8, y: y(at) }, short(at), { "text-anchor": "end" });
  }
  for (const at of chart.x_ticks ?? axis(x0, x1, chart.x_log)) {
    const text = short(at);  // the last one is moved to where it is not cut
    draw("path", { class: "lm-lane", d: `M${x(at)} ${low}v5` }, svg);
    tick({ x: Math.min(x(at), width - 3.8 * text.length), y: low + 16 }, text, { "text-anchor": "middle" });
  }
  draw("path", { class: "lm-lane", d: `M${left} ${top}V${low}H${right}` }, svg);
  tick({ x: (left + right) / 2, y: height - 10 }, chart.x_label, { "text-anchor": "middle" });
  tick({ x: 14, y: (top + low) / 2, transform: `rotate(-90 14 ${(top + low) / 2})` }, chart.y_label, { "text-anchor": "middle" });
  const names = chart.lines.filter((line) => !line.faint), looks = looksOf(names, 1);
  const columns = chart.lines.map((line) => {
    const { stroke: colour, "stroke-dasharray": dash } = looks[Math.max(0, names.findIndex((other) => other.name === line.name))];
    const d = curvePath(line.x, line.y, x, (v) => clamp(y(v), top, low));
    drawGaps(svg, line.gaps, x, top, low, colour, 1, line.faint ? "lm-faint" : "");
    draw("path", { class: line.faint ? "lm-curve lm-faint" : "lm-curve", d, stroke: colour, ...(line.faint ? {} : { "stroke-dasharray": dash }) }, svg);
    if (!line.faint && line.x.length < 30) line.x.forEach((at, j) => line.y[j] === null || draw("circle", { cx: x(at), cy: clamp(y(line.y[j]), top, low), r: 3.5, style: `fill: ${colour}`, class: "lm-dot" }, svg));
    return { line, colour, dash };
  });
  const named = [];
  for (const [name, px, py] of chart.points ?? []) {
    draw("path", { class: "lm-point", d: `M${x(px) - 5} ${y(py)}h10M${x(px)} ${y(py) - 5}v10` }, svg);
    const [at, mid] = besideItsPoint(chart.points.map(([, ox, oy]) => [x(ox), y(oy)]), [x(px), y(py)], 7.4 * name.length, named, left, right);
    named.push([at, mid, 7.4 * name.length]);
    const end = at < x(px);
    draw("text", { class: "lm-legend", "font-size": 12, x: end ? x(px) - 9 : at, y: mid, "text-anchor": end ? "end" : "start" }, svg, name);
  }
  const shown = columns.filter(({ line }) => !line.faint).map(({ line, colour, dash }) => ({ name: line.name, colour, dash }));
  if (chart.lines.some((line) => line.gaps)) shown.push({ name: NO_NUMBER });
  if (shown.length > 1 || chart.legend) legendOf(svg, shown, chart, x, y, left, right, top, low);
}

// Where a name stands: right or left of its point, above or below, where the fewest points and names are.
function besideItsPoint(points, [px, py], wide, named, left, right) {
  const places = [-9, 13, -24, 28].flatMap((down) => [[px + 9, py + down], [px - 9 - wide, py + down]]);
  const inTheWay = ([at, mid]) => points.filter(([ox, oy]) => ox > at - 6 && ox < at + wide + 6 && Math.abs(oy - mid) < 12).length
    + named.filter(([from, other, long]) => from < at + wide + 4 && at < from + long + 4 && Math.abs(other - mid) < 14).length;
  const cut = ([at]) => at < left || at + wide > right;
  return places.map((place) => [cut(place) ? 99 : inTheWay(place), place]).sort((a, b) => a[0] - b[0])[0][1];
}

// Of some places for a text of that size, the one in whose way the least of the curves and points is.
function leastCrowded(chart, x, y, places, wide, deep) {
  const inside = ([cx, cy], px, py) => px > cx - 8 && px < cx + wide + 8 && py > cy - 8 && py < cy + deep + 8;
  const spots = (chart.points ?? []).flatMap(([name, px, py]) => [0, 3, 6].map((shift) => [x(px) + shift * name.length * 0.9, y(py)]));
  for (const line of chart.lines) line.x.forEach((at, j) => {
    if (line.y[j] === null) return;
    const next = Math.min(j + 1, line.x.length - 1), k = line.y[next] === null ? j : next, dx = x(line.x[k]) - x(at), dy = y(line.y[k]) - y(line.y[j]);
    for (const f of [0, 0.25, 0.5, 0.75]) spots.push([x(at) + f * dx, y(line.y[j]) + f * dy]);
  });
  return places.map((place) => [spots.filter(([px, py]) => inside(place, px, py)).length, place]).sort((a, b) => a[0] - b[0])[0][1];
}

// The legend stands in the corner in which least is in its way.
function legendOf(svg, shown, chart, x, y, left, right, top, low) {
  const wide = 40 + 7.6 * Math.max(...shown.map(({ name }) => name.length)), deep = 18 * shown.length + 6;
  const corners = [[right - wide, top], [right - wide, low - deep], [left + 12, top], [left + 12, low - deep]];
  const [cx, cy] = leastCrowded(chart, x, y, corners, wide, deep);
  shown.forEach(({ name, colour, dash }, i) => {
    const at = cy + 12 + 18 * i;
    if (colour) draw("path", { class: "lm-curve", d: `M${cx} ${at}h24`, stroke: colour, "stroke-dasharray": dash }, svg);
    else draw("path", { class: "lm-gap", d: crossAt(cx + 12, at, 0.9) }, svg);
    draw("text", { class: "lm-legend", "font-size": 12.5, x: cx + 31, y: at }, svg, name);
  });
}

function drawBars(svg, chart, width, lane) {
  const top = 8, thick = 0.65 * lane, n = chart.bars.length, height = top + n * lane + (chart.x_label ? 26 : 8);
  const letters = Math.max(...chart.bars.map(([name]) => name.length)), left = Math.min(width * 0.42, 16 + 7.4 * letters);
  const right = width - 16 - 8.6 * Math.max(...chart.bars.map(([, , text]) => text.length));
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("height", height);
  const [x0, x1] = chart.x_range, x = scaleOf(x0, x1, chart.x_log, left, right);
  const zero = chart.x_log ? left : clamp(x(0), left, right);  // where bars begin
  chart.bars.forEach(([name, value, text, told], i) => {
    const y = top + (i + 0.5) * lane, end = value < 0 ? clamp(x(value), left, zero) : Math.max(zero + 2, Math.min(right, x(value)));
    draw("text", { class: "lm-bar-name", "font-size": 13, x: left - 8, y, "text-anchor": "end" }, svg, fit(name, left - 16, 7.2));
    draw("rect", { class: told ? "lm-told" : "lm-amount", x: Math.min(zero, end), y: y - thick / 2, width: Math.abs(end - zero), height: thick }, svg);
    draw("text", { class: "lm-legend", "font-size": 13, x: Math.max(zero, end) + 7, y }, svg, text);
  });
  draw("path", { class: "lm-lane", d: `M${zero} ${top}V${top + n * lane}` }, svg);
  if (chart.x_label) draw("text", { class: "lm-tick", "font-size": 12, x: left, y: height - 10 }, svg, chart.x_label);
}

function drawBelow(root, [head, ...rows]) {
  const made = html("table", { class: "lm-below" }, root), line = html("tr", {}, html("thead", {}, made)), body = html("tbody", {}, made);
  for (const name of head) html(name ? "th" : "td", name ? { scope: "col" } : {}, line, name);
  for (const row of rows) {
    const tr = html("tr", {}, body);
    for (const cell of row) html("td", {}, tr, cell);
  }
}
