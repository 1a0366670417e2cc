// Loss curves that grow under one clock, with the numbers that each run has now.

function renderRace({ model, el }) {
  const race = model.get("race"), title = model.get("title"), runners = race.runners;
  const { root, hatch } = makeRoot(el, "race", `race: ${title || runners.map((r) => r.name).join(", ")}`);
  if (title) html("div", { class: "lm-title" }, root, title);
  const choices = html("div", { class: "lm-axes", role: "group", "aria-label": "what the clock counts" }, root);
  const svg = draw("svg", { width: "100%", role: "img" }, root), board = html("div", { class: "lm-board" }, root);
  let across = model.get("across") ?? 0, large = model.get("large") ?? false, view;
  const axisNow = () => race.axes[across], most = () => axisNow().end;
  const buttons = race.axes.map(({ label }, i) => {
    const node = html("button", { type: "button", "aria-pressed": String(i === across) }, choices, label);
    node.addEventListener("click", () => {
      const f = transport.position() / most();
      across = i;
      model.set("across", i);
      buttons.forEach((other, j) => other.setAttribute("aria-pressed", String(j === i)));
      build();
      transport.seek(f * most());
    });
    return node;
  });
  const steps = () => {
    const all = [...new Set(runners.flatMap((r) => r[axisNow().key]))].sort((a, b) => a - b), every = Math.ceil(all.length / 60);
    return all.filter((_, i) => i % every === 0);
  };
  let sorted = [];
  const transport = makeTransport(root, {
    end: most,
    steps: () => sorted,
    to: (at) => at / (most() || 1),
    from: (f) => f * most(),
    seconds: () => 8,
    text: (at) => `${axisNow().unit ? at.toFixed(2) : Math.floor(at).toLocaleString("en")} ${axisNow().unit || axisNow().label}`,
    rested() {},
    show(at) { view.update(at); },
  }, 0);
  transport.enlarge(large, () => { large = !large; model.set("large", large); build(); return large; });
  const says = html("div", { class: "lm-caption", "aria-live": "polite" }, root);
  const rows = makeBoard(board, runners);

  function build(excess = 0) {
    sorted = steps();
    root.classList.toggle("lm-large", large);
    view = makeCurvesOf(svg, race, axisNow(), Math.max(320, root.clientWidth - 2), large ? 1.5 : 1, excess, hatch, (places) => {
      const told = rows(places, axisNow());
      if (says.textContent !== told) says.textContent = told;
      svg.setAttribute("aria-label", told);
    });
    transport.show();
  }
  const unwatch = watchSize(root, build);
  root.race = { seek: transport.seek, position: transport.position, end: most, isPlaying: transport.isPlaying };
  return () => { transport.halt(); unwatch(); root.remove(); };
}

function makeCurvesOf(svg, race, across, width, k, excess, hatch, tell) {
  const apart = race.runners.some((runner) => runner.apart), deep = (apart ? 105 : 0) * k;
  const height = Math.max(290 * k - excess, 170 * k) + deep, left = 60 * k, right = width - 14, top = 12 * k, low = height - 44 * k - deep, clip = `${hatch}-clip`;
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("height", height);
  const [y0, y1] = race.y_range, x = scaleOf(0, across.end, false, left, right), y = scaleOf(y0, y1, race.y_log, low, top);
  const tick = (at, text, anchor) => draw("text", { class: "lm-tick", "font-size": 12 * k, ...at, "text-anchor": anchor }, svg, text);
  for (const at of axis(y0, y1, race.y_log)) {
    draw("path", { class: "lm-lane", d: `M${left} ${y(at)}H${right}`, "stroke-dasharray": "1 3" }, svg);
    tick({ x: left - 8 * k, y: y(at) }, short(at), "end");
  }
  for (const at of axis(0, across.end, false)) {
    draw("path", { class: "lm-lane", d: `M${x(at)} ${low + deep}v5` }, svg);
    tick({ x: x(at), y: low + deep + 16 * k }, short(at), "middle");
  }
  draw("path", { class: "lm-lane", d: `M${left} ${top}V${low}H${right}` }, svg);
  tick({ x: (left + right) / 2, y: height - 9 * k }, `${across.label} ${across.unit}`.trim(), "middle");
  tick({ x: 13 * k, y: (top + low) / 2, transform: `rotate(-90 ${13 * k} ${(top + low) / 2})` }, "loss", "middle");
  if (race.target !== undefined) {
    draw("path", { class: "lm-target", d: `M${left} ${y(race.target)}H${right}` }, svg);
    tick({ x: right - 4, y: y(race.target) - 9 * k }, `target ${short(race.target)}`, "end");
  }
  const cover = draw("rect", { x: left, y: 0, width: 0, height }, draw("clipPath", { id: clip }, svg));
  const pathOf = (one) => curvePath(one[across.key], one.loss, x, (v) => clamp(y(v), top, low));
  const looks = looksOf(race.runners, k), look = (i) => looks[i];
  const grown = draw("g", { "clip-path": `url(#${clip})` }, svg);
  for (const seed of race.seeds) draw("path", { class: "lm-curve lm-seed", d: pathOf(seed), stroke: look(seed.of).stroke }, grown);
  const marks = race.runners.map((runner, i) => {
    draw("path", { class: "lm-curve", d: pathOf(runner), ...look(i) }, grown);
    drawGaps(grown, runner.loss.flatMap((v, j) => v === null && runner.loss[j - 1] !== null ? [[runner[across.key][j], true]] : []), x, top, low, look(i).stroke, k);
    const hit = runner.there?.[across.key][0];
    const flag = runner.there ? draw("path", { class: "lm-flag", style: `fill: ${look(i).stroke}`, d: `M${x(hit)} ${y(race.target)}v${-16 * k}l${9 * k} ${5 * k}l${-9 * k} ${5 * k}` }, svg) : null;
    const dot = draw("circle", { r: 5.5 * k, style: `fill: ${look(i).stroke}`, class: "lm-dot" }, svg);
    return { runner, dot, flag, hit };
  });
  if (apart) drawApart(svg, grown, race, across, x, looks, left, right, low + 22 * k, low + deep, k);
  const head = draw("path", { class: "lm-now", d: `M0 ${top}V${low + deep}` }, svg);
  return { update(at) {
    cover.setAttribute("width", Math.max(0, x(at) - left));
    head.setAttribute("transform", `translate(${x(at).toFixed(1)} 0)`);
    tell(marks.map(({ runner, dot, flag, hit }) => {
      const n = reached(runner[across.key], at), isThere = n > 0 && runner.loss[n - 1] !== null;
      dot.setAttribute("visibility", isThere ? "visible" : "hidden");
      const isAtTarget = runner.there !== undefined && at * (1 + 1e-9) >= hit;
      flag?.setAttribute("visibility", isAtTarget ? "visible" : "hidden");
      if (isThere) { dot.setAttribute("cx", x(runner[across.key][n - 1])); dot.setAttribute("cy", clamp(y(runner.loss[n - 1]), top, low)); }
      return [n, isAtTarget];
    }));
  } };
}

// How far the replicas' checksums lie apart, below the losses and on the same clock.
function drawApart(svg, grown, race, across, x, looks, left, right, top, low, k) {
  const most = Math.max(...race.runners.flatMap((runner) => runner.apart ?? [])) || 1, y = scaleOf(0, most, false, low, top);
  draw("path", { class: "lm-lane", d: `M${left} ${top}V${low}H${right}` }, svg);
  for (const at of [0, most]) draw("text", { class: "lm-tick", "font-size": 12 * k, x: left - 8 * k, y: y(at), "text-anchor": "end" }, svg, short(+at.toPrecision(2)));
  draw("text", { class: "lm-tick", "font-size": 12 * k, x: left + 8 * k, y: top - 8 * k }, svg, "how far the replicas' checksums lie apart");
  race.runners.forEach((runner, i) => {
    const d = runner.apart && curvePath(runner[across.key], runner.apart, x, y);
    if (d) draw("path", { class: "lm-curve lm-distance", d, ...looks[i] }, grown);
  });
}

// A row a run: its colour, its loss now, when it was at the target, and whether its replicas are one model.
function makeBoard(board, runners) {
  const looks = looksOf(runners, 1);
  const rows = runners.map((runner, i) => {
    const row = html("div", { class: "lm-row" }, board), svg = draw("svg", { width: 26, height: 12, "aria-hidden": "true" }, row);
    draw("path", { class: "lm-curve", d: "M0 6H26", ...looks[i] }, svg);
    html("span", { class: "lm-runner" }, row, runner.name);
    const now = html("span", { class: "lm-now-is" }, row), there = html("span", { class: "lm-there" }, row), sums = runner.apart ? html("span", {}, row) : null;
    return { runner, now, there, sums, row };
  });
  return (places, across) => {
    let best = null;
    const told = rows.map(({ runner, now, there, sums, row }, i) => {
      const [n, isAtTarget] = places[i], loss = n ? runner.loss[n - 1] : null;
      there.textContent = isAtTarget ? runner.there[across.key][1] : "";
      now.textContent = n ? `loss ${short(loss)}` : "not begun";
      if (n && loss !== null && (best === null || loss < best.loss)) best = { loss, name: runner.name };
      if (sums) {
        const far = n ? runner.apart[n - 1] : 0;
        sums.className = n ? (far === 0 ? "lm-alike" : "lm-apart") : "";
        sums.textContent = n ? (far === 0 ? "replicas alike" : `replicas apart: ${short(far)}`) : "";
        if (n) row.dataset.alike = far === 0;
      }
      return n ? `${runner.name} ${short(loss)}${isAtTarget ? `, ${there.textContent}` : ""}` : `${runner.name} has not begun`;
    });
    return told.join("; ") + (best && rows.length > 1 ? `; lowest: ${best.name}` : "");
  };
}
