"""A chart where no script runs: the same data, drawn by matplotlib."""

import textwrap
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.ticker import LogLocator, NullLocator
from numpy.typing import NDArray

from course_lib.viz.colours import OKABE_ITO, curve_looks
from course_lib.viz.stills.lines import draw_line, name_gaps
from course_lib.viz.stills.parts import INK, LINE, SOFT, Still

__all__ = ["chart_still"]

_WIDTH = 6.3  # inches
_LETTERS, _SAID = 88, 0.17  # in a line of the sentence below, and how high a line is in inches
_LETTER, _ROW = 0.012, 0.06  # how wide a letter of a name is, how high a name, in parts of the axes
_FEW_POWERS = 300  # an axis of less than 2½ powers of ten has other ticks, too
_GAP = 0.01  # between a point and its name, likewise
_POINT = 1 / 158  # a typographic point, likewise
_ABOVE = (0, 8, -8, 16, -16, 24, -24)  # where a name may stand, in points above its point


def chart_still(chart: dict[str, Any], title: str = "") -> Still:
    """Draw what ``Chart.chart`` holds.

    Parameters
    ----------
    chart : dict
        ``lines`` or ``bars``, the axes, and the sentence below.
    title : str, default: ""
        What stands above it.

    Returns
    -------
    matplotlib.figure.Figure
        A figure that no global state knows of.
    """
    charts = [chart["under"], chart] if "under" in chart else [chart]  # from below
    said = textwrap.wrap(chart["said"], _LETTERS)
    bottom = _SAID * len(said) + 0.05 * bool(said)
    high = bottom + sum(map(_height, charts))
    figure = Still(f"chart: {title or chart['said']}", (_WIDTH, high))
    if said:
        figure.text(0.1 / _WIDTH, bottom / high, "\n".join(said), fontsize=8, color=SOFT, va="top")
    for each in charts:
        _draw(figure, each, bottom, title if each is chart else "")
        bottom += _height(each)
    return figure


def _height(chart: dict[str, Any]) -> float:
    return 0.9 + 0.3 * len(chart["bars"]) if "bars" in chart else 3.1


def _draw(figure: Still, chart: dict[str, Any], bottom: float, title: str) -> None:
    is_bars = "bars" in chart
    left, right = (2.0, 3.0) if is_bars else (0.8, 0.95)
    axes = figure.put(left, bottom + 0.55, _WIDTH - right, _height(chart) - 0.9)
    (_draw_bars if is_bars else _draw_lines)(axes, chart)
    axes.tick_params(length=2.5, labelsize=8, colors=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel(chart["x_label"], fontsize=9)
    axes.set_ylabel(chart["y_label"], fontsize=9)
    axes.set_title(title, fontsize=10, loc="left")


def _draw_bars(axes: Any, chart: dict[str, Any]) -> None:
    names = [name for name, *_ in chart["bars"]]
    low = chart["x_range"][0]
    values = [max(value, low) for _, value, *_ in chart["bars"]]
    colours = [OKABE_ITO[5] if told else "#40566b" for *_, told in chart["bars"]]
    if chart["x_log"]:
        axes.set_xscale("log")
    axes.barh(range(len(names)), values, 0.65, color=colours)
    for row, (value, (_, _, text, _)) in enumerate(zip(values, chart["bars"], strict=True)):
        end = value if chart["x_log"] else max(value, 0.0)  # names stand left of bars below 0
        axes.annotate(text, (end, row), xytext=(4, 0), textcoords="offset points", fontsize=8,
                      va="center")  # fmt: skip
    if low < 0:
        axes.spines["left"].set_visible(False)
        axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_yticks(range(len(names)), names)
    axes.set_xlim(*chart["x_range"])
    axes.set_xticks([], minor=True)
    axes.set_xticks([])
    axes.invert_yaxis()


def _draw_lines(axes: Any, chart: dict[str, Any]) -> None:
    if "band" in chart:
        low, high, text = chart["band"]
        axes.axhspan(low, high, color=OKABE_ITO[1], alpha=0.2, linewidth=0, label=text)
    told = [line for line in chart["lines"] if not line["faint"]]
    looks = {line["name"]: look for line, look in zip(told, curve_looks(told), strict=True)}
    for line in chart["lines"]:
        look = looks[line["name"]]
        if line["faint"]:
            look = {"linewidth": 0.8, "alpha": 0.45, "color": look["color"]}
        else:
            look = {"label": line["name"], **look}
        draw_line(axes, line["x"], line["y"], line.get("gaps", ()), **look)
    if any("gaps" in line for line in chart["lines"]):
        name_gaps(axes)
    axes.set_xscale("log" if chart["x_log"] else "linear")
    axes.set_yscale("log" if chart["y_log"] else "linear")
    axes.set_xlim(*chart["x_range"])
    axes.set_ylim(*chart["y_range"])
    if chart["y_log"] and chart["y_range"][1] < _FEW_POWERS * chart["y_range"][0]:
        if chart["y_range"][1] < 10 * chart["y_range"][0]:
            axes.yaxis.set_minor_formatter(lambda value, _: f"{value:g}")
        else:
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))  # as in the browser
            axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")  # 4, and not 4 × 10^0
    _mark_points(axes, chart.get("points", []), told)
    if "x_ticks" in chart:
        axes.set_xticks(chart["x_ticks"], [f"{at:g}" for at in chart["x_ticks"]])
        axes.minorticks_off()
    axes.grid(color=LINE, linewidth=0.5)
    axes.legend(fontsize=8, frameon=False)


def _mark_points(axes: Any, points: list[Any], lines: list[dict[str, Any]]) -> None:
    """Write the name beside each point: right or left of it, where the least is in the way."""
    if not points:
        return
    places = axes.transData.transform([(x, y) for _, x, y in points])
    spots = axes.transAxes.inverted().transform(places)
    names: list[tuple[float, float, float]] = []  # start, end and height, in parts of the axes
    drawn = _along(axes, lines)

    def in_the_way(left: float, width: float, height: float) -> tuple[int, int]:
        """Count the points and names that a name would cover, then how much of curves.

        What is cut counts most.
        """
        there = [*((x, x, y) for x, y in spots), *names]
        covered = [
            one
            for one in there
            if left - _GAP < one[1] and one[0] < left + width + _GAP and abs(one[2] - height) < _ROW
        ]
        is_cut = not 0 <= left <= left + width <= 1
        beside = (left - _GAP < drawn[:, 0]) & (drawn[:, 0] < left + width + _GAP)
        struck = beside & (abs(drawn[:, 1] - height) < _ROW / 2)
        return len(covered) + is_cut * (1 + len(there)), int(struck.sum())

    for (name, x, y), (right, up) in zip(points, spots, strict=True):
        axes.plot([x], [y], "+", color=INK)
        width = _LETTER * len(name)
        _, above, is_left, left = min(
            (in_the_way(left, width, up + _POINT * above), number, is_left, left)
            for number, above in enumerate(_ABOVE)
            for is_left, left in enumerate((right + _GAP, right - _GAP - width))
        )
        axes.annotate(
            name, (x, y), xytext=(-5 if is_left else 5, _ABOVE[above]), textcoords="offset points",
            fontsize=8, ha="right" if is_left else "left", va="center",
        )  # fmt: skip
        names.append((left, left + width, up + _POINT * _ABOVE[above]))


def _along(axes: Any, lines: list[dict[str, Any]]) -> NDArray[np.float64]:
    """Return places along curves, close to each other, in parts of the axes."""
    found = [np.empty((0, 2))]
    into = axes.transData + axes.transAxes.inverted()
    for line in lines:
        pairs = zip(line["x"], line["y"], strict=True)
        corners = into.transform([(x, y) for x, y in pairs if y is not None] or np.empty((0, 2)))
        for begin, end in pairwise(corners):
            found.append(begin + np.linspace(0, 1, 20)[:, None] * (end - begin))
    return np.concatenate(found)
