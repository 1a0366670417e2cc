// What is where at a time: the same arithmetic as course_lib/viz/animation/snapshot.py on the same table,
// and the same sentences as course_lib/viz/animation/captions.py.
// Which files make a module, and in which order, says course_lib/viz/animation/script.py.

function unpack(packed) {
  let posted = 0, start = 0;
  const messages = packed.src.map((src, i) => {
    posted += packed.posted[i];
    const arrived = packed.flight[i] < 0 ? -1 : posted + packed.flight[i];
    const received = arrived < 0 ? -1 : arrived + packed.pause[i];
    return { index: i, src, dst: packed.dst[i], label: packed.label[i], size: packed.bytes[i],
      load: packed.load?.[i] ?? -1, posted, arrived, received };
  });
  const spans = packed.rank.map((rank, i) => {
    start += packed.start[i];
    return { rank, doing: packed.doing[i], start, end: start + packed.length[i] };
  });
  let when = 0;
  const fills = (packed.when ?? []).map((step, i) =>
    ({ rank: packed.filled[i], cell: packed.cell[i], level: packed.level[i], tick: when += step }));
  const scene = { ...packed, messages, spans, fills };
  const found = new Set([0, packed.end]);
  for (const m of messages) for (const t of [m.posted, m.arrived, m.received]) found.add(t);
  for (const s of spans) found.add(s.start).add(s.end);
  for (const fill of fills) found.add(fill.tick);
  for (const [, failed] of packed.faults) found.add(failed);
  scene.marks ??= [];
  scene.named = scene.roles.every((role) => role) && new Set(scene.roles).size === scene.roles.length;
  for (const [, marked] of scene.marks) found.add(marked);
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
  for (const [rank] of down(scene, tick)) workers[rank] = { rank, state: "failed", word: "failed", progress: 0, doing: -1 };
  for (const worker of workers) worker.said = -1;
  for (const [rank, marked, saying] of scene.marks) if (marked <= tick) workers[rank].said = saying;
  if (scene.goals.length) {
    const held = scene.held.map((levels) => [...levels]);
    for (const fill of scene.fills) {
      if (fill.tick > tick) break;
      held[fill.rank][fill.cell] = fill.level;
    }
    for (const worker of workers) worker.cells = held[worker.rank];
  }
  return { workers, tokens };
}

// The ranks that have failed, and how; not those that have been started again.
function down(scene, tick) {
  const ranks = new Map();
  for (const [rank, failed, kind] of scene.faults)
    if (failed <= tick && kind === "Restart") ranks.delete(rank);
    else if (failed <= tick) ranks.set(rank, kind);
  return ranks;
}

// Where every rank has a name of its own nobody speaks of ranks.
const nameOf = (scene, rank) => scene.named ? scene.roles[rank] : `${rank}`;
const who = (scene, rank) => scene.named ? scene.roles[rank] : `rank ${rank}`;
const words = (tag, called = "chunk") => tag === null ? "" : typeof tag === "number" ? `${called} ${tag}` : tag;

function caption(scene, tick, { workers, tokens }) {
  if (!scene.messages.length && scene.roles.every((role) => role)) return sayPlan(scene, tick, workers);
  const failed = [...down(scene, tick)].map(([rank, kind]) => `rank ${rank} has failed (${kind})`);
  if (tick >= scene.end) return [`the run is over: ${scene.total}`, ...failed].join("; ");
  const parts = [], count = (state) => tokens.filter((t) => t.state === state);
  const moving = count("moving").map(({ m }) =>
    ({ ...m, text: words(scene.labels[m.label][0], scene.called), size: scene.sizes[m.size][0], load: scene.loads?.[m.load]?.[0] ?? "" }));
  if (moving.length <= 2) {
    for (const m of moving) {
      const what = m.text && m.load ? `${m.text} (${m.load})` : m.text || m.load;
      parts.push(`${who(scene, m.src)} sends ${what ? `${what}, ${m.size},` : m.size} to ${who(scene, m.dst)}`);
    }
  } else {
    const same = moving[0].load && moving.every((m) => m.load === moving[0].load);
    const each = same ? `, each with ${moving[0].load}` : "";
    const listed = moving.slice(0, 4)
      .map((m) => `${nameOf(scene, m.src)} to ${nameOf(scene, m.dst)}${m.text ? ` (${m.text})` : ""}`).join(", ");
    const more = moving.length > 4 ? ` and ${moving.length - 4} more` : "";
    const drawn = scene.thinned ? "of those drawn, " : "";
    parts.push(`${drawn}${moving.length} messages are between send and arrival${each}: ${listed}${more}`);
  }
  const n = count("arrived").length, lost = count("lost").length;
  if (n) parts.push(n === 1 ? "1 message has arrived and is not yet received"
    : `${n} messages have arrived and are not yet received`);
  if (lost) parts.push(lost === 1 ? "1 message is never received" : `${lost} messages are never received`);
  for (const kind of ["compute", "wait"]) parts.push(...doing(scene, kind, workers));
  return [...parts, ...noted(scene, workers), ...failed].join("; ") || "no rank computes, sends or waits";
}

// What is done on lanes that all have names of their own, as in a Gantt chart.
function sayPlan(scene, tick, workers) {
  if (tick >= scene.end) return "the run is over";
  const busy = workers.filter((w) => w.state === "compute");
  return busy.map((w) => `${scene.roles[w.rank]}: ${scene.doings[w.doing][1]}`).join("; ") || "nothing goes on";
}

// What ranks have noted of old, lost and dropped updates.
function noted(scene, workers) {
  const told = workers.filter((w) => w.said >= 0).map((w) => [w.rank, ...scene.sayings[w.said]]);
  if (told.length <= 2) return told.map(([rank, , long]) => `rank ${rank} ${long}`);
  const listed = told.slice(0, 4).map(([rank, short]) => `rank ${rank}: ${short}`).join(", ");
  return [listed + (told.length > 4 ? ` and ${told.length - 4} more` : "")];
}

function doing(scene, kind, workers) {
  const groups = new Map(), busy = workers.filter((w) => w.state === kind);
  for (const w of busy) groups.set(w.doing, [...(groups.get(w.doing) ?? []), w.rank]);
  if (groups.size > 2) return [`${busy.length} ranks ${kind}`];
  return [...groups].map(([number, ranks]) => {
    const [, , one, many] = scene.doings[number];
    if (ranks.length === 1) return `${who(scene, ranks[0])} ${one}`;
    if (ranks.length > 4) return `${ranks.length} ranks ${many}`;
    const names = ranks.map((rank) => nameOf(scene, rank)), whose = scene.named ? "" : "ranks ";
    return `${whose}${names.slice(0, -1).join(", ")} and ${names.at(-1)} ${many}`;
  });
}
