// A loss surface over two parameters, and the replicas that walk on it.

function renderLandscape({ model, el }) {
  const land = model.get("landscape"), title = model.get("title"), walks = land.walks;
  const names = [...new Set(walks.map((walk) => walk.name))];
  const { root } = makeRoot(el, "landscape", `loss surface: ${title || names.join(", ")}`);
  html("div", { class: "lm-title" }, root, title || (names.length === 1 ? names[0] : ""));
  const box = html("div", { class: "lm-land" }, root), canvas = html("canvas", { width: land.columns, height: land.rows, "aria-hidden": "true" }, box);
  const svg = draw("svg", { width: "100%", role: "img" }, box);
  const times = [...new Set(walks.flatMap((walk) => walk.t))].sort((a, b) => a - b), every = Math.ceil(times.length / 150);
  const steps = times.filter((_, i) => i % every === 0);
  let large = model.get("large") ?? false, view;
  const transport = makeTransport(root, {
    end: () => land.end, steps: () => steps, seconds: () => clamp(0.25 * steps.length, 6, 20),
    to: (at) => at / (land.end || 1), from: (f) => f * land.end,
    text: (at) => land.unit === "steps" ? `${Math.floor(at)} steps` : `${at.toFixed(2)} ${land.unit}`,
    rested() {}, show(at) { view.update(at); },
  }, 0);
  transport.enlarge(large, () => { large = !large; model.set("large", large); build(); return large; });
  const says = html("div", { class: "lm-caption", "aria-live": "polite" }, root);

  function build(excess = 0) {
    root.classList.toggle("lm-large", large);
    const k = large ? 1.5 : 1, width = Math.max(320, root.clientWidth - 2), height = Math.max(Math.min(440 * k, Math.max(300, width * 0.5)) - excess, 220);
    view = makeLand(svg, canvas, land, names, width, height, k, (told) => {
      if (says.textContent !== told) says.textContent = told;
      svg.setAttribute("aria-label", told);
    });
    transport.show();
  }
  const unwatch = watchSize(root, build);
  root.landscape = { seek: transport.seek, position: transport.position, end: () => land.end, isPlaying: transport.isPlaying };
  return () => { transport.halt(); unwatch(); root.remove(); };
}

// So many steps of several replicas are drawn in full, those before them faintly.
const TAIL = 4;

// Where a walk is: at the last place it has noted, on its way to the next in the time before that.
function placeOf(walk, at) {
  const n = reached(walk.t, at), i = Math.max(0, n - 1), j = Math.min(walk.t.length - 1, n);
  if (!n || i === j) return { n, x: walk.x[i], y: walk.y[i], loss: walk.loss[i] };
  const gone = (at - walk.t[i]) / (walk.t[j] - walk.t[i] || 1), u = clamp((gone - 0.5) * 2, 0, 1);
  return { n, x: walk.x[i] + u * (walk.x[j] - walk.x[i]), y: walk.y[i] + u * (walk.y[j] - walk.y[i]), loss: walk.loss[i] };
}

function makeLand(svg, canvas, land, names, width, height, k, tell) {
  const left = 54 * k, right = width - 10, top = 8, low = height - 40 * k;
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("height", height);
  Object.assign(canvas.style, { left: `${left}px`, top: `${top}px`, width: `${right - left}px`, height: `${low - top}px` });
  paint(canvas, land);
  const x = scaleOf(...land.x_range, false, left, right), y = scaleOf(...land.y_range, false, low, top);
  const line = (points) => points.map(([a, b], i) => `${i ? "L" : "M"}${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("");
  draw("path", { class: "lm-contour", d: land.lines.map(([, points]) => line(points)).join("") }, svg);
  for (const at of axis(...land.x_range, false)) draw("text", { class: "lm-tick", "font-size": 12 * k, x: Math.min(x(at), width - 3.8 * k * short(at).length), y: low + 14 * k, "text-anchor": "middle" }, svg, short(at));
  for (const at of axis(...land.y_range, false)) draw("text", { class: "lm-tick", "font-size": 12 * k, x: left - 6 * k, y: y(at), "text-anchor": "end" }, svg, short(at));
  draw("path", { class: "lm-lane", d: `M${left} ${top}V${low}H${right}V${top}z` }, svg);
  draw("text", { class: "lm-legend", "font-size": 12 * k, x: (left + right) / 2, y: height - 9 * k, "text-anchor": "middle" }, svg, land.labels[0]);
  draw("text", { class: "lm-legend", "font-size": 12 * k, x: 12 * k, y: (top + low) / 2, "text-anchor": "middle", transform: `rotate(-90 ${12 * k} ${(top + low) / 2})` }, svg, land.labels[1]);
  const clip = `lm-clip-${Math.random().toString(36).slice(2)}`;
  draw("rect", { x: left, y: top, width: right - left, height: low - top }, draw("clipPath", { id: clip }, svg));
  const layer = draw("g", { "clip-path": `url(#${clip})` }, svg), many = names.length > 1;
  const dots = land.walks.map((walk) => {
    const colour = COLOURS[CURVE_ORDER[(many ? names.indexOf(walk.name) : walk.rank) % 7]];
    const gone = draw("path", { class: "lm-trail lm-gone", stroke: colour }, layer), trail = draw("path", { class: "lm-trail", stroke: colour }, layer);
    return { walk, colour, gone, trail };
  });
  for (const dot of dots) dot.arrow = draw("path", { class: "lm-stale" }, layer);  // above all trails
  for (const dot of dots) {
    dot.g = draw("g", { class: "lm-replica", "data-rank": dot.walk.rank }, svg);
    draw("circle", { r: 10 * k, fill: dot.colour }, dot.g);
    dot.text = draw("text", { "font-size": 12 * k, "text-anchor": "middle" }, dot.g);
    dot.text.style.fill = ["#0072B2", "#D55E00", "#009E73"].includes(dot.colour) ? "#fff" : "#1a1a1a";
  }
  const means = names.map((name) => dots.filter(({ walk }) => walk.name === name)).filter((own) => own.length > 1).map((own) => ({ own, ring: draw("circle", { class: "lm-mean", r: 15 * k }, layer) }));
  if (many) names.forEach((name, i) => {
    draw("circle", { r: 6 * k, fill: COLOURS[CURVE_ORDER[i % 7]], cx: left + 16 * k, cy: top + (16 + 20 * i) * k, class: "lm-dot" }, svg);
    draw("text", { class: "lm-legend", "font-size": 12.5 * k, x: left + 28 * k, y: top + (16 + 20 * i) * k }, svg, name);
  });
  return { update(at) {
    const places = dots.map(({ walk }) => placeOf(walk, at)), spots = places.map((p) => [x(p.x), y(p.y)]);
    dots.forEach(({ walk, gone, trail, arrow, g, text }, i) => {
      const { n } = places[i], [px, py] = spots[i];
      const way = [...walk.x.slice(0, Math.max(1, n)).map((a, j) => [a, walk.y[j]]), [places[i].x, places[i].y]];
      const recent = dots.some((other, j) => j !== i && other.walk.name === walk.name) ? Math.max(0, way.length - 1 - TAIL) : 0;
      gone.setAttribute("d", recent ? line(way.slice(0, recent + 1)) : "");
      trail.setAttribute("d", line(way.slice(recent)));
      // Replicas of one run on one spot are one dot that says how many it is.
      const same = dots.map((other, j) => j).filter((j) => dots[j].walk.name === walk.name && Math.hypot(spots[j][0] - px, spots[j][1] - py) < 1.5);
      g.setAttribute("visibility", same[0] === i ? "visible" : "hidden");
      g.setAttribute("transform", `translate(${clamp(px, left, right).toFixed(1)} ${clamp(py, top, low).toFixed(1)})`);
      text.textContent = same.length > 1 || walk.replicas > 1 ? `×${Math.max(same.length, walk.replicas)}` : dots.filter((d) => d.walk.name === walk.name).length > 1 ? walk.rank : "";
      g.firstChild.setAttribute("r", (text.textContent.length > 2 ? 14.5 : 10) * k);  // "×20" needs more room
      const old = n ? walk.arrows.find(([t]) => t === walk.t[n - 1]) : null;
      arrow.setAttribute("d", old ? arrowOf(x(old[1]), y(old[2]), x(walk.x[n - 1]), y(walk.y[n - 1]), 12 * k) : "");
    });
    for (const { own, ring } of means) {
      const at = own.map((dot) => spots[dots.indexOf(dot)]), mean = (j) => at.reduce((sum, spot) => sum + spot[j], 0) / at.length;
      ring.setAttribute("cx", mean(0).toFixed(1));
      ring.setAttribute("cy", mean(1).toFixed(1));
    }
    tell(names.map((name) => sentence(name, dots.map((d, i) => [d.walk, places[i]]).filter(([walk]) => walk.name === name), many, land.dots ?? "replicas")).join("; "));
  } };
}

// An arrow that ends short of the dot at its end, so that its head is seen.
function arrowOf(x0, y0, x1, y1, short) {
  const long = Math.hypot(x1 - x0, y1 - y0), u = (x1 - x0) / (long || 1), v = (y1 - y0) / (long || 1), head = 8;
  const ex = long > 2 * short ? x1 - short * u : x1, ey = long > 2 * short ? y1 - short * v : y1;
  const wing = (side) => `${(ex - head * (u - side * 0.5 * v)).toFixed(1)} ${(ey - head * (v + side * 0.5 * u)).toFixed(1)}`;
  return `M${x0.toFixed(1)} ${y0.toFixed(1)}L${ex.toFixed(1)} ${ey.toFixed(1)}M${wing(1)}L${ex.toFixed(1)} ${ey.toFixed(1)}L${wing(-1)}`;
}

function sentence(name, all, many, dots) {
  const losses = all.map(([, p]) => p.loss), told = losses.filter((loss) => loss !== null), far = Math.max(...all.flatMap(([, a]) => all.map(([, b]) => Math.hypot(a.x - b.x, a.y - b.y))));
  const n = all[0][0].replicas;
  const what = all.length === 1 && n > 1 ? `${n} ${dots} on one spot, loss ${short(losses[0])}` : all.length === 1 ? `loss ${short(losses[0])}` : far < 1e-6 ? `${all.length} ${dots} on one spot, loss ${short(losses[0])}`
    : `${all.length} ${dots} up to ${short(+far.toPrecision(3))} apart, losses ${told.length ? short(Math.min(...told)) : NO_NUMBER} to ${short(told.length === losses.length ? Math.max(...told) : null)}`;
  const left = [...new Set(all.filter(([walk, { n }]) => walk.left && n === walk.t.length).map(([walk]) => walk.left))];
  const whole = left.length ? `${what}; leaves what can be drawn ${left.join(", ")}` : what;
  return many ? `${name}: ${whole}` : whole;
}

// The heights as shades of the text's colour, which fits light and dark.
function paint(canvas, land) {
  const context = canvas.getContext("2d"), image = context.createImageData(land.columns, land.rows);
  const dark = document.querySelector('[data-jp-theme-light="false"], [data-theme="dark"]') !== null;
  land.heights.forEach((height, i) => {
    const row = land.rows - 1 - Math.floor(i / land.columns), at = 4 * (row * land.columns + i % land.columns), u = height / 255;
    const [r, g, b] = dark ? [30 + 34 * (1 - u), 44 + 92 * (1 - u), 60 + 120 * (1 - u)] : [250 - 90 * (1 - u), 251 - 44 * (1 - u), 253 - 10 * (1 - u)];
    image.data.set([r, g, b, 255], at);
  });
  context.putImageData(image, 0, 0);
}
