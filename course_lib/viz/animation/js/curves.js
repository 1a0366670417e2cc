// How curves are drawn that have no number in places.

// A curve as a path. Where a value is null it has a gap; what stands alone between two is a short dash.
function curvePath(xs, ys, x, y) {
  const isGap = (j) => (ys[j] ?? null) === null;
  return xs.map((at, j) => isGap(j) ? "" : isGap(j - 1) && isGap(j + 1) ? `M${(x(at) - 2.5).toFixed(1)} ${y(ys[j]).toFixed(1)}h5`
    : `${isGap(j - 1) ? "M" : "L"}${x(at).toFixed(1)} ${y(ys[j]).toFixed(1)}`).join("");
}

// Where gaps begin there is a cross at the edge where the curve leaves.
function drawGaps(svg, gaps, x, top, low, colour, k = 1, more = "") {
  for (const [at, isUp] of gaps ?? []) draw("path", { class: `lm-gap ${more}`, d: crossAt(x(at), isUp ? top : low, k), style: `stroke: ${colour}` }, svg);
}
const crossAt = (px, py, k) => `M${(px - 5 * k).toFixed(1)} ${(py - 5 * k).toFixed(1)}l${10 * k} ${10 * k}m0 ${-10 * k}l${-10 * k} ${10 * k}`;
