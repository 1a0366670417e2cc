// The stage: workers as boxes, messages as tokens on bent edges.

const BOXES = [[150, 76], [116, 64], [100, 58], [80, 50], [60, 42], [44, 34], [32, 26], [22, 19], [15, 14]];
const STRIP_BOXES = [[190, 108], [160, 100], [128, 84], [104, 70], [84, 58], [64, 48], [48, 40], [36, 32], [26, 26], [18, 18], [14, 14]];

function chooseBox(scene, width, height, k) {
  const fits = ([w, h]) => {
    const gap = w > 70 ? 0.3 * w : 5;
    if (w * k > width / (scene.goals.length ? 4.8 : 5) && w > 80) return false;
    const at = place(scene, width, height, [w * k, h * k]);
    return at.every((a, i) => at.slice(i + 1).every((b) =>
      Math.abs(a.x - b.x) >= (w + gap) * k || Math.abs(a.y - b.y) >= (h + gap) * k));
  };
  const boxes = scene.goals.length ? STRIP_BOXES : BOXES;
  return (boxes.find(fits) ?? boxes.at(-1)).map((side) => side * k);
}

// The long edges of a grid run around its outer boxes: there is room for them.
const place = (scene, width, height, [w, h]) => scene.places.map(([x, y]) => {
  const pad = scene.layout === "grid" ? 14 + 0.3 * Math.min(w, h) : 14;
  return { x: pad + w / 2 + x * (width - 2 * pad - w), y: pad + h / 2 + y * (height - 2 * pad - h) };
});

// A bent edge between two boxes: its point at u (0 and 1 are the middles of the boxes), and how long
// it is outside both. A token begins and ends at the boxes' edges: with its length and thickness it
// lies outside them, where there is room for it.
function makeEdge(a, b, bend, [w, h], thick) {
  const cx = (a.x + b.x) / 2 + bend * (b.y - a.y), cy = (a.y + b.y) / 2 - bend * (b.x - a.x);
  const point = (u) => ({
    x: (1 - u) ** 2 * a.x + 2 * u * (1 - u) * cx + u * u * b.x,
    y: (1 - u) ** 2 * a.y + 2 * u * (1 - u) * cy + u * u * b.y });
  const facing = (u) => {
    const q = point(u + 0.01), o = point(u - 0.01), length = Math.hypot(q.x - o.x, q.y - o.y) || 1;
    return { dx: (q.x - o.x) / length, dy: (q.y - o.y) / length };
  };
  const covers = (u, o, long) => {
    const p = point(u), { dx, dy } = facing(u), x = Math.abs(dx), y = Math.abs(dy);
    return Math.abs(p.x - o.x) < (w + x * long + y * thick) / 2 + 1 && Math.abs(p.y - o.y) < (h + y * long + x * thick) / 2 + 1;
  };
  const outside = (long) => {
    let from = 0, to = 1;
    while (from < 0.5 && covers(from, a, long)) from += 0.01;
    while (to > 0.5 && covers(to, b, long)) to -= 0.01;
    return [from, to];
  };
  const ways = new Map(), [from, to] = outside(thick), p = point(from), q = point(to);
  return { path: `M${a.x} ${a.y}Q${cx} ${cy} ${b.x} ${b.y}`, length: Math.hypot(p.x - q.x, p.y - q.y), at(position, long) {
    if (!ways.has(long)) ways.set(long, outside(long));
    const [from, to] = ways.get(long), u = from + (to - from) * position;
    return { ...point(u), ...facing(u) };
  } };
}

// As edge_bend in course_lib/viz/animation/edges.py: long edges of a line stay on the stage, those of a
// grid pass beside its boxes.
function bendOf(scene, spots, src, dst, height, [w, h]) {
  const a = spots[src], b = spots[dst], dx = b.x - a.x, dy = b.y - a.y, length = Math.hypot(dx, dy);
  if (scene.layout === "line") {
    const rows = new Set(scene.places.map((p) => p[1])).size;
    return Math.min(scene.bend, (rows === 1 ? 0.62 : 0.2) * height / length);
  }
  const between = (c) => {
    const square = length * length, part = dx * (c.x - a.x) + dy * (c.y - a.y);
    return Math.abs(dx * (c.y - a.y) - dy * (c.x - a.x)) < 0.01 * square && part > 0.01 * square && part < 0.99 * square;
  };
  if (scene.layout === "grid" && spots.some(between)) return 1.5 * (Math.abs(dx) > Math.abs(dy) ? h : w) / length;
  return scene.bend;
}

// `excess` is by how much lower it has to be than it would be; `given` says how much of that it is.
function makeStage(svg, scene, width, k, hatch, excess) {
  svg.replaceChildren();
  const rows = new Set(scene.places.map((p) => p[1])).size, n = scene.size;
  const n_cells = scene.goals.length, more = n_cells ? 80 : 0;
  const wanted = Math.round(k * (rows === 1 ? 210 + more / 2 : (n <= 8 ? 300 : n <= 20 ? 380 : 470) + more));
  const height = Math.max(wanted - excess, Math.round(0.42 * wanted));
  const below = scene.sayings?.length ? 8 * k : 0;  // for what stands under the lowest boxes
  svg.setAttribute("viewBox", `0 0 ${width} ${height + below}`);
  svg.setAttribute("height", height + below);
  const box = chooseBox(scene, width, height, k), [w, h] = box, noted = w >= 80 * k && n <= (width < 700 * k ? 5 : 8);
  const spots = place(scene, width, height, box), strip = n_cells ? stripIn(box, n_cells, k) : null;
  drawHosts(svg, scene, spots, box, k);
  const thinnest = Math.max(9 * k, 1.15 * LEAST_TYPE);  // a token holds its number
  const thick = strip ? clamp(strip.high * 0.7, thinnest, 22 * k) : clamp(h * 0.32, thinnest, 22 * k), edges = new Map();
  for (const { src, dst } of scene.messages)
    if (!edges.has(src * n + dst))
      edges.set(src * n + dst, makeEdge(spots[src], spots[dst], bendOf(scene, spots, src, dst, height, box), box, thick));
  const longest = clamp(0.55 * Math.min(...[...edges.values()].map((edge) => edge.length)), 1.2 * thick, 2.8 * thick);
  draw("path", { class: "lm-edge", d: [...edges.values()].map((edge) => edge.path).join("") }, svg);
  const layer = draw("g", {}, svg), shown = new Map();
  const boxes = spots.map((spot, rank) => makeBox(svg, scene, rank, spot, box, k, hatch, strip));

  function makeToken(m) {
    const [tag, , cells = []] = scene.labels[m.label], [size, share] = scene.sizes[m.size];
    const g = draw("g", { class: "lm-token", "data-index": m.index }, layer);
    const number = typeof tag === "number" && thick >= 11 ? String(tag) : "", type = readable(thick * (number.length > 2 ? 0.5 : 0.74));
    const length = Math.max(thick * 1.2, share * longest, 0.6 * number.length * LEAST_TYPE + 4), bar = draw("g", {}, g), colours = coloursOf(m);
    colours.forEach((colour, i) => draw("rect", { x: -length / 2 + i * length / colours.length, y: -thick / 2,
      width: length / colours.length, height: thick, rx: colours.length > 1 ? 0 : thick / 4, fill: COLOURS[colour] }, bar));
    const part = length / colours.length;
    if (colours.length > 1 && part >= Math.max(11, 0.6 * LEAST_TYPE * Math.max(...cells.map((cell) => `${cell}`.length)))) colours.forEach((colour, i) => draw("text", { class: "lm-number", x: (i + 0.5) * part - length / 2,
      "font-size": readable(Math.min(thick, part) * 0.74), style: `fill: ${colour === 4 ? "#fff" : "#1a1a1a"}` }, bar, cells[i]));
    if (number) draw("text", { class: "lm-number", "font-size": type,
      style: `fill: ${colours[0] === 4 ? "#fff" : "#1a1a1a"}` }, g, number);
    const text = [number || colours.length > 1 ? "" : words(tag, scene.called), scene.loads?.[m.load]?.[1], size].filter(Boolean).join(", ");
    const note = noted && draw("text", { class: "lm-note", "font-size": 12.5 * k }, g, fit(text, 170 * k, 6.5 * k));
    const room = note ? Math.max(note.textContent.length * 6.6 * k, note.getComputedTextLength()) : 0;
    return { g, bar, note, length, room };
  }
  function coloursOf(m) {
    const [, colour, cells = []] = scene.labels[m.label];
    return cells.length > 1 ? cells.map((cell) => colourOf(scene, cell)) : [colour];
  }

  return { height, given: wanted - height, update({ workers, tokens }) {
    const queued = new Map(), here = new Set();
    const taken = spots.map((spot) => [spot.x, spot.y, w, h]), notes = [];
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
      const p = edges.get(m.src * n + m.dst).at(along, token.length);
      token.g.setAttribute("transform", `translate(${p.x.toFixed(1)} ${p.y.toFixed(1)})`);
      const turn = p.dx < 0 ? -1 : 1;  // its cells stay in order from left to right
      token.bar.setAttribute("transform", `rotate(${(Math.atan2(turn * p.dy, turn * p.dx) * 180 / Math.PI).toFixed(1)})`);
      token.g.classList.toggle("lm-lost", state === "lost");
      const [wide, high] = [Math.abs(p.dx) * token.length + Math.abs(p.dy) * thick, Math.abs(p.dy) * token.length + Math.abs(p.dx) * thick];
      taken.push([p.x, p.y, wide, high]);
      if (token.note) notes.push({ ...token, p, wide, high, resting: state === "arrived" });
    }
    for (const note of notes) placeNote(note, taken, [width, height], thick, k);
    for (const [index, token] of shown) if (!here.has(index)) { token.g.remove(); shown.delete(index); }
    for (const worker of workers) boxes[worker.rank](worker);
  } };
}

// A token's note stands beside its bar, on the outer side of the edge, where nothing else is.
function placeNote({ note, p, wide, length, room, resting }, taken, [right, low], thick, k) {
  const nx = p.dy, ny = -p.dx, side = Math.abs(nx) > Math.abs(ny);
  const slope = Math.min(Math.abs(nx / ny), Math.abs(ny / nx)), high = 14 * k;
  // How far a slanted bar reaches beyond its middle line where the note begins.
  const reach = thick / 2 * Math.hypot(1, slope) + slope * Math.min(length, side ? high : Math.min(room, wide)) / 2;
  const x = side ? Math.sign(nx) * (reach + 5 * k) : 0, y = side ? 0 : Math.sign(ny) * (reach + 8 * k);
  const cx = p.x + x + (side ? Math.sign(nx) * room / 2 : 0), cy = p.y + y;
  const inside = cx > room / 2 && cx < right - room / 2 && cy > high / 2 && cy < low - high / 2;
  const free = !resting && inside && taken.every(([bx, by, w, h]) => (bx === p.x && by === p.y) ||
    Math.abs(bx - cx) >= (w + room) / 2 + 4 * k || Math.abs(by - cy) >= (h + high) / 2);
  if (free) taken.push([cx, cy, room, high]);
  note.setAttribute("visibility", free ? "visible" : "hidden");
  note.setAttribute("x", x.toFixed(1));
  note.setAttribute("y", y.toFixed(1));
  note.setAttribute("text-anchor", !side ? "middle" : nx > 0 ? "start" : "end");
}

function makeBox(svg, scene, rank, spot, [w, h], k, hatch, strip) {
  const named = scene.named, role = named ? "" : scene.roles[rank], g = draw("g", { class: "lm-box", transform: `translate(${spot.x} ${spot.y})` }, svg);
  const shape = (inset, name, fill) => draw("rect", { class: name, x: -w / 2 + inset, y: -h / 2 + inset,
    width: w - 2 * inset, height: h - 2 * inset, rx: role ? 2 : Math.min(10 * k, h / 4), ...fill }, g);
  shape(0, "lm-ground");
  shape(0, "lm-hatch", { fill: `url(#${hatch})` });
  if (role && w > 40) shape(4, "lm-inner");
  const roomy = w >= 80 * k, big = w >= 100 * k;
  const fill = strip && makeStrip(g, scene, strip, k), tall = strip && !strip.ground;
  const name = draw("text", { class: "lm-rank", y: tall ? strip.name : roomy ? -h * 0.13 : 0,
    "font-size": readable(tall ? h * (strip.counts || h >= 56 * k ? 0.22 : 0.36) : roomy ? h * 0.36 : Math.min(h * 0.62, w * 0.55)) }, g);
  if (named) {
    name.textContent = scene.roles[rank];
    name.setAttribute("font-size", readable(Math.min(h * 0.5, 1.6 * w / scene.roles[rank].length, 20 * k)));
  } else if (big) {
    if (!role) draw("tspan", { class: "lm-small", "font-size": 13 * k }, name, "rank ");
    draw("tspan", {}, name, rank);
    if (role) draw("tspan", { class: "lm-small", "font-size": 13 * k }, name, ` ${fit(role, w - h * 0.6, 7 * k)}`);
  } else name.textContent = rank;
  const letter = readable((big ? 13 : 11) * k);
  const told = strip ? strip.word !== null && !strip.ground : roomy;
  const word = told ? draw("text", { class: "lm-word", y: strip ? strip.word : h * 0.27, "font-size": letter }, g) : null;
  const bar = draw("rect", { class: "lm-progress", x: -w / 2 + 3, y: h / 2 - 6 * Math.min(k, h / 30),
    height: 3 * Math.min(k, h / 30), width: 0 }, g);
  draw("path", { class: "lm-cross", d: `M${-w / 2} ${-h / 2}L${w / 2} ${h / 2}M${-w / 2} ${h / 2}L${w / 2} ${-h / 2}` }, g);
  const mark = roomy && scene.marks.length ? draw("text", { class: "lm-note lm-said" }, g) : null;
  let now = "";
  return ({ state, word: text, progress, cells, doing, said }) => {
    fill?.(cells);
    if (mark) {
      mark.textContent = scene.sayings[said]?.[0] ?? "";
      const short = mark.textContent.length < 4; // a number is the story itself; outside, where no message passes
      mark.setAttribute("x", short ? (spot.x > svg.viewBox.baseVal.width / 2 + 1 ? 0.36 : -0.36) * w : 0);
      mark.setAttribute("font-size", (short ? 17 : 12) * k);
      mark.setAttribute("y", h / 2 + (short ? 7 : 8) * k);
    }
    if (now !== state + text) {
      now = state + text;
      g.setAttribute("data-state", state);
      g.setAttribute("data-fill", scene.doings[doing]?.[4] ?? 0);
      if (word) word.textContent = lastWord(text, w - 6 * k, letter * 0.54);
    }
    bar.setAttribute("width", (progress * (w - 6)).toFixed(1));
  };
}
