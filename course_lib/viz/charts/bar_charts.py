"""Bars side by side: how much each of several has, by one rule and by another."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from course_lib.viz.colours import CURVE_COLOURS, OKABE_ITO
from course_lib.viz.stills.parts import INK, LINE, Still, cut

__all__ = ["bars"]

_WIDTH = 6.3  # inches
_ROW = 0.19  # inches of the legend
_LETTERS, _HANDLE = 78, 8  # in a row of the legend, and as wide as the box of a name
_HATCHES = ("", "////", "....")


def bars(
    groups: Mapping[str, Sequence[float]],
    *,
    level: float | None = None,
    title: str | None = None,
    x_label: str = "rank",
    y_label: str = "bytes",
) -> Still:
    """Draw one bar for each number, and the groups side by side, told apart by colour and hatch.

    Parameters
    ----------
    groups : dict of str to sequence of float
        The heights of each group's bars, by its name.
    level : float or None, default: None
        Where to draw a line across.
    title : str or None, default: None
        What stands above it.
    x_label, y_label : str
        What is numbered, and what the heights are, with the unit.

    Returns
    -------
    matplotlib.figure.Figure
        A figure that no global state knows of; it shows itself in a notebook.

    Raises
    ------
    ValueError
        If there is no group, or one has no number.
    """
    if not groups or not all(map(_are_heights, groups.values())):
        raise ValueError(
            f"groups must hold one finite number or more by each name, got {dict(groups)}"
        )
    groups = {str(name): heights for name, heights in groups.items()}
    columns = max(1, min(3, _LETTERS // (max(map(len, groups)) + _HANDLE)))
    rows = -(-len(groups) // columns)
    more = _ROW * rows if rows > 1 else 0.0  # one row has room beside the title
    figure = Still(f"bars: {', '.join(groups)}", (_WIDTH, 2.6 + more))
    axes = figure.put(0.8, 0.5, _WIDTH - 0.95, 1.8)
    width = 0.8 / len(groups)
    for index, (name, heights) in enumerate(groups.items()):
        places = [
            number + (index - (len(groups) - 1) / 2) * width for number in range(len(heights))
        ]
        label = cut(name, _LETTERS - _HANDLE)
        axes.bar(places, heights, width, label=label, hatch=_HATCHES[index % 3], edgecolor="white",
                 color=OKABE_ITO[CURVE_COLOURS[index % 7]], linewidth=0.5)  # fmt: skip
    if level is not None:
        axes.axhline(level, color=INK, linewidth=0.8)
    axes.set_xticks(range(max(map(len, groups.values()))))
    axes.tick_params(length=2.5, labelsize=8, colors=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=LINE, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.set_xlabel(x_label, fontsize=9)
    axes.set_ylabel(y_label, fontsize=9)
    axes.set_title(title or "", fontsize=10, loc="left", pad=6 + 72 * more)
    axes.legend(fontsize=8, frameon=False, loc="lower right", bbox_to_anchor=(1, 0.98),
                ncols=columns)  # fmt: skip
    return figure


def _are_heights(heights: Any) -> bool:
    return np.ndim(heights) == 1 and np.size(heights) > 0 and bool(np.all(np.isfinite(heights)))
