"""A dataflow graph on its workers: a lane each, nodes as boxes, edges that cross thick and red.

What crosses is also unbroken and has its bytes written beside it, and what stays is thin and
dashed, so that no colour is needed to tell them apart.
"""

from collections.abc import Mapping, Sequence
from itertools import chain, count
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from course_lib.viz.animation.layouts import Point
from course_lib.viz.colours import OKABE_ITO, ink_on
from course_lib.viz.stills.parts import INK, LINE, SOFT, Still, cut
from course_lib.words.units import in_bytes

__all__ = ["MOST_NODES", "draw_placed_graph"]

MOST_NODES = 64
"""More than these cannot be told apart."""

_ALARM, _PALE = "#D55E00", "#8b949e"
_COLUMN, _ROW, _BOX = 1.1, 0.5, (0.86, 0.32)  # inches
_LEFT, _TOP, _LANE_GAP = 1.35, 0.55, 0.28
_LETTERS = 12  # in a line of a box


def draw_placed_graph(
    inputs: Mapping[str, Sequence[str]],
    placement: Mapping[str, int],
    sizes: Mapping[str, int],
    lanes: Sequence[str],
    *,
    title: str = "",
) -> Still:
    """Draw what is computed from what, and where.

    A node stands to the right of all that it uses, in the lane of its worker.

    Parameters
    ----------
    inputs : mapping of str to sequence of str
        By each node's name, the nodes that it uses; those stand before it.
    placement : mapping of str to int
        The worker of each node.
    sizes : mapping of str to int
        The bytes of each node's result; empty where they are not to be told.
    lanes : sequence of str
        What stands at the beginning of each worker's lane.
    title : str, default: ""
        What stands above it.

    Returns
    -------
    matplotlib.figure.Figure
        A figure that no global state knows of; it shows itself in a notebook.

    Raises
    ------
    ValueError
        If there are no nodes, or more than 64; a node uses one that does not stand before it; or
        one has no worker among ``lanes``, or no size.
    """
    if not 1 <= len(inputs) <= MOST_NODES:
        raise ValueError(f"inputs must have 1 to {MOST_NODES} nodes, got {len(inputs)}")
    _check(inputs, placement, sizes, len(lanes))
    at, borders = _places(inputs, placement, len(lanes))
    width = _LEFT + _COLUMN * (max(x for x, _ in at.values()) + 1)
    height = _TOP + borders[-1] + 0.1
    figure = Still(f"{len(inputs)} nodes on {len(lanes)} workers", (width, height))
    axes = figure.put(0, 0, width, height)
    axes.set_xlim(-_LEFT, width - _LEFT)
    axes.set_ylim(height - _TOP, -_TOP)
    axes.axis("off")
    axes.text(-_LEFT + 0.12, -_TOP + 0.22, cut(title, 13 * width), fontsize=10, color=INK,
              fontweight="bold", va="center")  # fmt: skip
    for name, low, high in zip(lanes, borders, borders[1:], strict=False):
        axes.axhline(high, color=LINE, linewidth=0.7, zorder=0)
        axes.text(-_LEFT + 0.12, (low + high) / 2, name.replace(": ", "\n"), fontsize=8,
                  color=INK, va="center")  # fmt: skip
    middle = {name: (_COLUMN * (x + 0.5), y) for name, (x, y) in at.items()}
    boxes = {name: _box(axes, name, middle[name], placement[name]) for name in inputs}
    _draw_edges(axes, inputs, placement, sizes, middle, boxes)
    return figure


def _check(
    inputs: Mapping[str, Sequence[str]],
    placement: Mapping[str, int],
    sizes: Mapping[str, int],
    n_lanes: int,
) -> None:
    before: set[str] = set()
    for name, used in inputs.items():
        for other in used:
            if other not in before:
                why = "stands after it, or waits for itself" if other in inputs else "is none"
                raise ValueError(
                    f"inputs[{name!r}] must be nodes that stand before it, got {other!r}, which "
                    f"{why}"
                )
        before.add(name)
        if placement.get(name) not in range(n_lanes):
            raise ValueError(
                f"placement[{name!r}] must be a worker from 0 to {n_lanes - 1}, as lanes has them, "
                f"got {placement.get(name)!r}"
            )
        for other in used:
            if sizes and other not in sizes and placement[other] != placement[name]:
                raise ValueError(
                    f"sizes must have the bytes of every node that crosses, got none for {other!r}"
                )


def _places(
    inputs: Mapping[str, Sequence[str]], placement: Mapping[str, int], n_lanes: int
) -> tuple[dict[str, tuple[int, float]], list[float]]:
    """Give each node a column and a height, and say where lanes begin and end.

    A node stands in the row of the first node of its lane that it uses, where that is free.
    """
    column: dict[str, int] = {}
    row: dict[str, int] = {}
    taken: set[tuple[int, int, int]] = set()  # lane, column and row
    for name, used in inputs.items():
        lane = placement[name]
        column[name] = max((column[other] + 1 for other in used), default=0)
        wished = [row[other] for other in used if placement[other] == lane][:1]
        row[name] = next(r for r in chain(wished, count()) if (lane, column[name], r) not in taken)
        taken.add((lane, column[name], row[name]))
    borders = [0.0]
    for lane in range(n_lanes):
        rows = max((r + 1 for where, _, r in taken if where == lane), default=1)
        borders.append(borders[-1] + rows * _ROW + _LANE_GAP)
    at = {
        name: (column[name], borders[placement[name]] + _LANE_GAP / 2 + _ROW * (row[name] + 0.5))
        for name in inputs
    }
    return at, borders


def _box(axes: Axes, name: str, middle: Point, rank: int) -> FancyBboxPatch:
    width, height = _BOX
    colour = OKABE_ITO[rank % len(OKABE_ITO)]
    box = FancyBboxPatch(
        (middle[0] - width / 2, middle[1] - height / 2), width, height,
        boxstyle="round,pad=0,rounding_size=0.05", facecolor=colour, edgecolor=INK,
        linewidth=0.7, zorder=3,
    )  # fmt: skip
    axes.add_patch(box)
    axes.text(*middle, _in_two_lines(name), fontsize=6.5, ha="center", va="center",
              color=ink_on(colour), zorder=4, linespacing=0.95)  # fmt: skip
    return box


def _in_two_lines(name: str) -> str:
    """Break a long name at its first space."""
    if len(name) <= _LETTERS or " " not in name:
        return cut(name, _LETTERS)
    first, rest = name.split(" ", 1)
    return f"{cut(first, _LETTERS)}\n{cut(rest, _LETTERS + 3)}"


def _draw_edges(
    axes: Axes,
    inputs: Mapping[str, Sequence[str]],
    placement: Mapping[str, int],
    sizes: Mapping[str, int],
    middle: Mapping[str, Point],
    boxes: Mapping[str, FancyBboxPatch],
) -> None:
    told = set()  # a result crosses once to each worker, whoever uses it there
    for name, used in inputs.items():
        for other in dict.fromkeys(used):
            crosses = placement[name] != placement[other]
            style: dict[str, Any] = (
                {"color": _ALARM, "linewidth": 1.8, "zorder": 2}
                if crosses
                else {"color": _PALE, "linewidth": 0.9, "linestyle": (0, (4, 2)), "zorder": 1}
            )
            others = [at for node, at in middle.items() if node not in (name, other)]
            way, halfway = _clear_way(middle[other], middle[name], others)
            axes.add_patch(
                FancyArrowPatch(
                    middle[other], middle[name], arrowstyle="-|>", mutation_scale=9,
                    connectionstyle=way, patchA=boxes[other], patchB=boxes[name], shrinkA=0,
                    shrinkB=1, **style,
                )
            )  # fmt: skip
            if crosses and sizes and (other, placement[name]) not in told:
                told.add((other, placement[name]))
                axes.text(*halfway, in_bytes(sizes[other]), fontsize=6.5, color=SOFT, ha="center",
                          va="center", zorder=5,
                          bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6})  # fmt: skip


def _clear_way(start: Point, end: Point, others: Sequence[Point]) -> tuple[str, Point]:
    """Choose between a straight line and bows: the one behind the fewest boxes.

    Returns
    -------
    way : str
        For Matplotlib.
    halfway : tuple of float
        A point of it.
    """
    (x, y), (to_x, to_y) = start, end
    if abs(to_y - y) < 0.01:
        bend = -0.6 / (to_x - x) if to_x - x > 1.5 * _COLUMN else 0  # above the boxes between
        return f"arc3,rad={bend}", ((x + to_x) / 2, y)
    bows = {
        "arc3,rad=0": ((x + to_x) / 2, (y + to_y) / 2),
        "angle3,angleA=90,angleB=0": (x, to_y),  # up or down first
        "angle3,angleA=0,angleB=90": (to_x, y),
    }
    way = min(bows, key=lambda one: _n_behind(start, bows[one], end, others))
    return way, _point(start, bows[way], end, 0.5)


def _n_behind(start: Point, corner: Point, end: Point, others: Sequence[Point]) -> int:
    """Count the boxes that a bow goes behind."""
    points = [_point(start, corner, end, step / 40) for step in range(41)]
    half, high = _BOX[0] / 2 + 0.04, _BOX[1] / 2 + 0.04
    return sum(any(abs(x - at_x) < half and abs(y - at_y) < high for x, y in points)
               for at_x, at_y in others)  # fmt: skip


def _point(start: Point, corner: Point, end: Point, part: float) -> Point:
    """Go along a quadratic Bézier curve."""
    x, y = (
        (1 - part) ** 2 * a + 2 * part * (1 - part) * b + part**2 * c
        for a, b, c in zip(start, corner, end, strict=True)
    )
    return x, y
