"""How smoothly pictures move and how soon they follow a slider, in headless Chromium.

``python -m benchmarks --only pictures``: frames are counted on saved pages and in JupyterLab; there
a kernel computes what a slider asks for, a run of 8 ranks on the simulator that no one saw before.
"""

import statistics
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.browser import chromium, count_frames, why_missing
from benchmarks.lab import jupyterlab, opened_lab, opened_notebook, run_all, write_notebook
from benchmarks.plan import Plan, Progress
from benchmarks.samples import Key, Samples
from course_lib import run
from course_lib.collectives import allreduce_ring
from course_lib.schemes.map_reduce import map_reduce
from course_lib.training import Plan as TrainingPlan
from course_lib.viz import Explore, Player, explore, loss_curve, player
from course_lib.watch import watch_collective

__all__ = ["FRAME", "FROM_SLIDER", "NotMoving", "measure_pictures"]

FRAME = "a frame of a moving picture"
FROM_SLIDER = Key("from a slider's move to the new picture, 95th percentile", 8, "player")

_LOOK_S = 2.0
_LEAST_MOVED = 0.9
_N_MOVES = 40
_SHORTEST = 8000
_NOTEBOOK = "pictures.ipynb"
_CELLS = [
    "from benchmarks.pictures import mapped_and_reduced; mapped_and_reduced()",
    "from benchmarks.pictures import explored_ring; explored_ring()",
]
# Moves the slider, waits for the picture of the new setting to be there and painted; milliseconds.
_MOVE = """(explore, at) => new Promise((done, failed) => {
  const slider = explore.querySelector(".lm-knob input"), before = explore.explore.shown();
  const begin = performance.now();
  slider.value = at;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  const look = () => {
    if (explore.explore.shown() !== before)
      requestAnimationFrame(() => done(performance.now() - begin));
    else if (performance.now() - begin > 10000) failed(new Error("no new picture in 10 s"));
    else requestAnimationFrame(look);
  };
  look();
})"""


class NotMoving(RuntimeError):
    """Frames were drawn, but too many of them showed the same time as the one before."""


def mapped_and_reduced() -> Player:
    """Return a player with a loss curve, of four workers around a combiner."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 10))
    plan = TrainingPlan(0.1, epochs=5)
    y = X @ np.arange(10)
    trace = run(map_reduce, X, y, plan, workers=4, backend="simulated").trace
    return player(trace, "star", {"loss": loss_curve(trace)}, roles={0: "combiner"})


def explored_ring() -> Explore:
    """Return an explorer of so many rings of 8 ranks that a slider always finds a new one."""
    return explore(partial(_watched, 8), length=range(_SHORTEST, _SHORTEST + 2000))


def _watched(workers: int, length: int | None = None) -> Player:
    return watch_collective(allreduce_ring, workers=workers, length=length).player()


_PAGES: dict[str, Callable[[], Player]] = {
    "4 workers and a loss curve": mapped_and_reduced,
    "16 ranks": lambda: _watched(16),
    "64 ranks": lambda: _watched(64),
}


def measure_pictures(plan: Plan, progress: Progress, samples: Samples) -> None:
    """Count frames, and time the slider; tell why not where there is no browser."""
    if missing := why_missing():
        progress.tell(f"pictures are left out: {missing}")
        return
    progress.expect(plan.rounds * (len(_PAGES) + 1))
    with chromium() as browser, tempfile.TemporaryDirectory(prefix="pictures-") as name:
        for _ in range(plan.rounds):
            for what, make in _PAGES.items():
                progress.step(f"pictures: {what}")
                path = make().save(Path(name) / "page.html")
                page = browser.new_page()
                page.goto(path.as_uri())
                _add_frames(samples, f"{what}, saved page", page.locator(".lm-player"))
                page.close()
        write_notebook(Path(name) / _NOTEBOOK, _CELLS)
        with jupyterlab(Path(name)) as address:
            for round_ in range(plan.rounds):
                progress.step("pictures: JupyterLab")
                with opened_lab(browser, address) as page, opened_notebook(page, _NOTEBOOK):
                    _measure_in_lab(page, round_, samples)


def _measure_in_lab(page: Any, round_: int, samples: Samples) -> None:
    run_all(page)
    explorer = page.locator(".jp-OutputArea .lm-explore")
    explorer.wait_for(timeout=60_000)
    _add_frames(
        samples,
        "4 workers and a loss curve, JupyterLab",
        page.locator(".jp-OutputArea .lm-player").first,
    )
    first = 1 + round_ * _N_MOVES
    found = [explorer.evaluate(_MOVE, at) / 1000 for at in range(first, first + _N_MOVES)]
    samples.add(FROM_SLIDER, [statistics.quantiles(found, n=20)[-1]])


def _add_frames(samples: Samples, what: str, player: Any) -> None:
    player.focus()
    player.press("Home")
    player.press("Space")
    frames = count_frames(player, _LOOK_S)
    player.press("Space")
    if frames.moved < _LEAST_MOVED:
        raise NotMoving(f"{what}: {frames.moved:.0%} of the frames showed another time")
    samples.add(Key(FRAME, 1, what), [1 / frames.per_s])
