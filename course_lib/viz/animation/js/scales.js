// Axes: where they have ticks, how numbers lie on them, and how numbers are written.

const short = (value) => value === null ? NO_NUMBER : Math.abs(value) >= 1e6 || (value && Math.abs(value) < 1e-3)
  ? value.toExponential(1).replace(".0e", "e").replace("e+", "e")
  : value.toLocaleString("en", { maximumSignificantDigits: 4 });

// Where an axis has its ticks: powers of ten and, where there are few, multiples of them; or round steps.
function axis(low, high, log) {
  if (log) {
    const found = [], decades = Math.log10(high) - Math.log10(low);
    const digits = decades < 1 ? [1, 2, 3, 4, 5, 6, 7, 8, 9] : decades < 2.5 ? [1, 2, 5] : [1];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high) + 1e-9; power++)
      for (const digit of digits) {
        const at = digit * 10 ** power;
        if (at >= low * 0.999 && at <= high * 1.001) found.push(at);
      }
    const every = Math.ceil(found.length / 9);
    return found.filter((_, i) => i % every === 0);
  }
  const rough = (high - low) / 6 || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, i) => +((first + i) * step).toPrecision(12));
}

const scaleOf = (low, high, log, from, to) => log
  ? (v) => from + (to - from) * (Math.log(Math.max(v, low * 1e-9)) - Math.log(low)) / (Math.log(high) - Math.log(low))
  : (v) => from + (to - from) * (v - low) / (high - low || 1);

// How many of sorted positions lie before another: the last of them is where something is now.
function reached(values, at) {
  let low = 0, high = values.length;
  while (low < high) { const mid = (low + high) >> 1; if (values[mid] <= at * (1 + 1e-9)) low = mid + 1; else high = mid; }
  return low;
}

// How curves look: colours and dashes in order, so that they differ in print, too; what the others
// are compared with is grey.
function looksOf(curves, k) {
  const told = curves.filter((curve) => !curve.reference);
  return curves.map((curve) => {
    const i = told.indexOf(curve);
    return curve.reference ? { stroke: "var(--soft)", "stroke-dasharray": "" }
      : { stroke: COLOURS[CURVE_ORDER[i % 7]], "stroke-dasharray": ["", `${7 * k} ${4 * k}`, `${2 * k} ${3 * k}`][i % 3] };
  });
}
