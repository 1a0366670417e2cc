"""Curves in still pictures, with gaps where they have no number."""

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from course_lib.viz.charts.curves import gaps_of, values_of
from course_lib.viz.colours import CURVE_COLOURS, OKABE_ITO
from course_lib.viz.stills.parts import INK, LINE

__all__ = ["draw_curves", "draw_line", "name_gaps"]

_DASHES = ("-", "--", ":")
_CROSS: dict[str, Any] = {
    "marker": "x", "linestyle": "", "markersize": 7, "markeredgewidth": 2,
}  # fmt: skip


def draw_curves(axes: Axes, curves: dict[str, list[tuple[float, float]]]) -> None:
    """Draw curves with their names.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where to draw.
    curves : dict of str to list of (float, float)
        The points of each, by name, as ``check_curves`` returns them.
    """
    for index, (name, points) in enumerate(curves.items()):
        draw_line(
            axes, [x for x, _ in points], values_of(points), gaps_of(points), label=name,
            linewidth=1.8, color=OKABE_ITO[CURVE_COLOURS[index % 7]], linestyle=_DASHES[index % 3],
        )  # fmt: skip
    if any(map(gaps_of, curves.values())):
        name_gaps(axes)
    axes.tick_params(length=2.5, labelsize=8, colors=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=LINE, linewidth=0.5)
    if curves:
        axes.legend(fontsize=8, frameon=False, loc="best")


def draw_line(
    axes: Axes,
    x: Sequence[float],
    y: Sequence[float | None],
    gaps: Sequence[tuple[float, bool]] = (),
    **look: Any,
) -> None:
    """Draw a curve; where it leaves the picture, a cross stands at the edge.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        Where to draw.
    x, y : sequence of float
        Its points; of y None is a gap.
    gaps : sequence of (float, bool), default: ()
        Where gaps begin, and whether the curve leaves upwards.
    **look
        For matplotlib; ``color`` among it.
    """
    axes.plot(x, [math.nan if value is None else value for value in y], **look)
    around = [None, *y, None]
    alone = [
        (at, value) for k, (at, value) in enumerate(zip(x, y, strict=True))
        if value is not None and around[k] is None is around[k + 2]
    ]  # fmt: skip
    if alone:  # a line has two
        axes.plot(*zip(*alone, strict=True), "o", color=look["color"], markersize=4)
    for at, is_up in gaps:
        axes.plot([at], [int(is_up)], transform=axes.get_xaxis_transform(), color=look["color"],
                  alpha=look.get("alpha"), zorder=5, clip_on=False, **_CROSS)  # fmt: skip


def name_gaps(axes: Axes) -> None:
    """Have the legend say what the crosses of ``draw_line`` mean."""
    axes.plot([], [], color=INK, label="no finite number", **_CROSS)
