// The bar of a moving picture: to start, step, play, scrub, speed; and the keys that do the same.

const SPEEDS = [0.25, 0.5, 1, 2, 4];
const ICONS = {
  start: "M5 4v12M16 4 7.5 10 16 16z",
  back: "M6 4v12M15.5 4.5v11L8.5 10z",
  play: "M6 4v12l10-6z",
  pause: "M7 4v12M13 4v12",
  on: "M14 4v12M4.5 4.5v11l7-5.5z",
};

// `film` is what moves: end() is the last position and 0 the first; steps() are the positions that a
// step goes to, sorted; to(position) and from(fraction) say how positions lie on the scrubber, seconds()
// how long the whole takes at 1x; show(position) draws, text(position) is the clock, rested(position)
// hears where the motion stopped.
function makeTransport(root, film, begin) {
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

  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let here = clamp(begin, 0, film.end()), speed = 1, playing = false, goal = null, request = 0, timer = 0, last = 0;

  function show() {
    film.show(here);
    scrub.value = 1000 * film.to(here);
    clock.textContent = film.text(here);
    scrub.setAttribute("aria-valuetext", clock.textContent);
  }
  function frame(now) {
    // A frame's time may lie before the moment that asked for it.
    const seconds = clamp((now - last) / 1000, 0, 0.1), f = film.to(here);
    last = now;
    if (goal !== null) {
      const aim = film.to(goal), rest = aim - f, pace = Math.max(Math.abs(rest) * 6, 0.02) * seconds;
      if (Math.abs(rest) <= pace) { here = goal; goal = null; } else here = film.from(f + Math.sign(rest) * pace);
    } else here = Math.min(film.end(), film.from(Math.min(1, f + seconds * speed / film.seconds())));
    show();
    if (goal === null && (!playing || here >= film.end())) rest(); else request = requestAnimationFrame(frame);
  }
  function move() { if (!request) { last = performance.now(); request = requestAnimationFrame(frame); } }
  function halt() {
    cancelAnimationFrame(request); clearInterval(timer);
    request = timer = 0; goal = null; playing = false; face();
  }
  function rest() { halt(); film.rested(here); }
  function face() {
    playButton.setAttribute("aria-label", playing ? "pause" : "play");
    playButton.title = playing ? "pause" : "play";
    playButton.querySelector("path").setAttribute("d", playing ? ICONS.pause : ICONS.play);
  }
  function toggle() {
    if (playing) return rest();
    halt();
    if (here >= film.end()) here = 0;
    playing = true; face();
    if (still.matches) { hop(); timer = setInterval(() => { if (!hop()) rest(); }, 1000 / speed); }
    else move();
  }
  function seek(to) { halt(); here = clamp(to, 0, film.end()); show(); rest(); }
  function next(way, from) {
    const slack = film.end() * 1e-9;
    return way > 0 ? film.steps().find((s) => s > from + slack) ?? film.end() : film.steps().findLast((s) => s < from - slack) ?? 0;
  }
  function hop() { here = next(1, here); show(); return here < film.end(); }
  function step(way) {
    const to = next(way, goal ?? here);
    if (playing || still.matches) { halt(); here = to; show(); rest(); } else { goal = to; move(); }
  }
  function setSpeed(value) {
    speed = value; pick.value = value;
    if (playing && still.matches) { halt(); toggle(); }
  }

  pick.addEventListener("change", () => setSpeed(+pick.value));
  scrub.addEventListener("input", () => seek(film.from(scrub.value / 1000)));
  root.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const tag = event.target.tagName, own = event.target === scrub;
    if ((tag === "SELECT" || (tag === "INPUT" && !own)) && !"+-".includes(event.key)) return;
    if (event.key === " " && tag === "BUTTON") return;
    const shift = (d) => setSpeed(SPEEDS[clamp(SPEEDS.indexOf(speed) + d, 0, 4)]);
    const act = { " ": toggle, ArrowLeft: () => step(-1), ArrowRight: () => step(1), Home: () => seek(0),
      End: () => seek(film.end()), "+": () => shift(1), "=": () => shift(1), "-": () => shift(-1) }[event.key];
    if (!act) return;
    event.preventDefault(); event.stopPropagation(); act();
  });
  // A switch at the bar's end: `act` turns it and says how it stands now.
  function choice(label, hint, pressed, act) {
    const node = html("button", { type: "button", class: "lm-choice", "aria-pressed": String(pressed), title: hint }, bar, label);
    node.addEventListener("click", () => node.setAttribute("aria-pressed", String(act())));
    return node;
  }
  setSpeed(1);
  root.transport = {
    toggle,
    fraction: () => film.to(here),
    seekFraction: (f) => seek(film.from(f)),
    // What a picture that takes this one's place goes on with.
    state: () => ({ fraction: film.to(here), speed, playing }),
    restore(was) { setSpeed(was.speed); if (was.fraction) seek(film.from(was.fraction)); if (was.playing && was.fraction < 1) toggle(); },
  };
  return {
    bar, show, seek, halt,
    position: () => here,
    isPlaying: () => playing,
    // Goes where another view of the same picture has stopped; not while this one moves.
    follow(to) { if (!request) { here = clamp(to, 0, film.end()); show(); } },
    choice,
    // A slide has the largest type that it has room for: there this one is hidden.
    enlarge: (pressed, act) => choice("large", "larger type, for a lecture room", pressed, act).classList.add("lm-enlarge"),
  };
}

// Tells the model where a picture rests: other views at once, the kernel when the motion is over.
function makeTeller(model) {
  let telling = 0;
  return {
    tell(time_s) {
      model.set("time_s", time_s);
      clearTimeout(telling);
      telling = setTimeout(() => model.save_changes?.(), 150);
    },
    end() { clearTimeout(telling); },
  };
}
