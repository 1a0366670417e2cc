"""A worker's buffer in a still picture: a strip of cells, filled by the contributions it holds."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from course_lib.viz.animation.layouts import Point
from course_lib.viz.animation.scene import TWICE, Scene
from course_lib.viz.animation.snapshot import Worker
from course_lib.viz.colours import BLACK_INK, OKABE_ITO, ink_on

__all__ = ["STRIP_BOXES", "Strip", "cell_colour", "draw_strips", "strip_in"]

STRIP_BOXES = (
    (1.0, 0.62), (0.84, 0.56), (0.64, 0.48), (0.46, 0.36), (0.34, 0.28), (0.24, 0.2), (0.17, 0.15),
)  # fmt: skip
_ALONE = 1  # the colour of a buffer that is one cell
_NUMBERED = 0.12  # inches; narrower cells have no number
_WRONG = "#D55E00"


class Strip(NamedTuple):
    """Where the strip lies in a box, in inches from the box's middle, and what is around it.

    ``name`` and ``word``: the height of the rank and of the state. ``is_ground``: the strip is the
    whole box, behind the rank.
    """

    x: float
    y: float
    wide: float
    high: float
    name: float
    word: float
    is_ground: bool


def strip_in(box: tuple[float, float]) -> Strip:
    """Find the strip's place in a box of a width and a height in inches."""
    w, h = box
    if h <= 0.2:
        return Strip(-w / 2 + 0.015, -h / 2 + 0.015, w - 0.03, h - 0.03, 0.0, 0.0, True)
    wide = w - 0.1
    if h >= 0.48:
        return Strip(-wide / 2, -0.13 * h, wide, 0.36 * h, -0.32 * h, 0.375 * h, False)
    return Strip(-wide / 2, 0.0, wide, 0.4 * h, -0.24 * h, 0.0, False)


def cell_colour(scene: Scene, cell: int) -> str:
    """Return the colour of a cell: a chunk's, or the one of a whole buffer."""
    return OKABE_ITO[_ALONE if len(scene.goals) == 1 else cell % len(OKABE_ITO)]


def draw_strips(
    axes: Axes, scene: Scene, strip: Strip, at: Sequence[Point], workers: Sequence[Worker]
) -> None:
    """Draw the strips of all workers.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where to draw, in inches.
    scene : Scene
        What is drawn.
    strip : Strip
        Where a strip lies in its box.
    at : sequence of (float, float)
        The boxes' middles, by rank.
    workers : sequence of Worker
        What they hold.
    """
    wide = strip.wide / len(scene.goals)
    shapes: list[list[Point]] = []
    fills: list[Any] = []
    for worker in workers:
        left, top = at[worker.rank][0] + strip.x, at[worker.rank][1] + strip.y
        for cell, (level, goal) in enumerate(zip(worker.cells, scene.goals, strict=True)):
            colour, x = cell_colour(scene, cell), left + cell * wide
            part = level / goal if level >= 0 and goal else 0.0
            shapes += [_box(x, top, wide, strip.high)]
            shapes += [_box(x, top + strip.high * (1 - part), wide, strip.high * part)]
            fills += ["white" if level < 0 else _pale(colour), colour]
            _write(axes, scene, (x + wide / 2, top + strip.high / 2), strip, cell, level)
    lines = 0.4 if wide >= 0.06 else 0.0
    axes.add_collection(
        PolyCollection(
            shapes, facecolors=fills, edgecolors="white" if strip.is_ground else BLACK_INK,
            linewidths=lines, zorder=4.5 if strip.is_ground else 5.2,
        )
    )  # fmt: skip


def _box(x: float, y: float, wide: float, high: float) -> list[Point]:
    return [(x, y), (x + wide, y), (x + wide, y + high), (x, y + high)]


def _pale(colour: str) -> tuple[float, float, float]:
    """Mix a colour with white, 1 to 7: one of the steps that the picture's palette has."""
    red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return (red + 7) / 8, (green + 7) / 8, (blue + 7) / 8


def _write(axes: Axes, scene: Scene, at: Point, strip: Strip, cell: int, level: int) -> None:
    """Write a cell's number, or how full the buffer is where it is the only cell; tick it off."""
    n, goal = len(scene.goals), scene.goals[cell]
    wide = strip.wide / n
    if strip.is_ground or wide < (_NUMBERED if n > 1 else 3 * _NUMBERED):
        return
    full, ink = level == goal, BLACK_INK
    text = str(cell) if n > 1 else "" if full else f"{level}/{goal}"
    if level < 0:
        text, ink = "2×" if level == TWICE else "?", _WRONG
    elif level >= 0.6 * goal:
        ink = ink_on(cell_colour(scene, cell))
    ticked = full and scene.called == "chunk" and strip.high >= (0.2 if n > 1 else 0.1)
    lift = 0.22 * strip.high if n > 1 and ticked else 0.0
    size = min(7.0, 0.6 * wide * 72)
    axes.text(at[0], at[1] - lift, text, fontsize=size, ha="center", va="center", color=ink,
              zorder=5.4)  # fmt: skip
    if ticked:
        _tick(axes, (at[0], at[1] + lift), 0.045 if n > 1 else 0.06, ink)


def _tick(axes: Axes, at: Point, size: float, ink: str) -> None:
    xs = [at[0] + part * size for part in (-1, -0.3, 1)]
    ys = [at[1] + part * size for part in (0, 0.8, -0.8)]
    axes.plot(xs, ys, color=ink, linewidth=1.1, solid_capstyle="round", zorder=5.4)
