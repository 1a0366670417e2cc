"""Bars side by side: how much each of several has, by one rule and by another."""

from collections.abc import Mapping, Sequence

from course_lib.viz.colours import CURVE_COLOURS, OKABE_ITO
from course_lib.viz.stills.parts import INK, LINE, Still

__all__ = ["bars"]

_WIDTH = 6.3  # inches
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
    """
    figure = Still(f"bars: {', '.join(groups) or 'none'}", (_WIDTH, 2.6))
    axes = figure.put(0.8, 0.5, _WIDTH - 0.95, 1.8)
    width = 0.8 / max(1, len(groups))
    for index, (name, heights) in enumerate(groups.items()):
        places = [
            number + (index - (len(groups) - 1) / 2) * width for number in range(len(heights))
        ]
        axes.bar(places, heights, width, label=name, hatch=_HATCHES[index % 3], edgecolor="white",
                 color=OKABE_ITO[CURVE_COLOURS[index % 7]], linewidth=0.5)  # fmt: skip
    if level is not None:
        axes.axhline(level, color=INK, linewidth=0.8)
    axes.set_xticks(range(max(map(len, groups.values()), default=0)))
    axes.tick_params(length=2.5, labelsize=8, colors=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=LINE, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.set_xlabel(x_label, fontsize=9)
    axes.set_ylabel(y_label, fontsize=9)
    axes.set_title(title or "", fontsize=10, loc="left")
    axes.legend(fontsize=8, frameon=False, loc="lower right", bbox_to_anchor=(1, 0.98), ncols=3)
    return figure
