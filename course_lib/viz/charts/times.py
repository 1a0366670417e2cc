"""Seconds by size on two logarithmic axes: what was measured, simulated and predicted."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

from course_lib.viz.colours import CURVE_COLOURS, OKABE_ITO
from course_lib.viz.stills.parts import INK, LINE, Still
from course_lib.words.units import in_bytes, time_unit

__all__ = ["draw_times"]

Points = Sequence[tuple[float, float]]

_STYLES: dict[str, Any] = {
    "measured": "-",
    "simulated": "--",
    "predicted": ":",
    "predicted at most": "-.",
}
_MARKERS = "osD^vPX*"  # shapes tell the algorithms apart where colours do not
_COLOURS = [OKABE_ITO[index] for index in CURVE_COLOURS[:6]] + [INK, "#7f868d"]
_PANEL, _TALL, _LEGEND = 4.2, 3.0, 1.75  # inches


def draw_times(
    panels: Mapping[str, Mapping[str, Mapping[str, Points]]], *, title: str | None = None
) -> Still:
    """Draw seconds by bytes: a panel for each number of workers, a colour for each algorithm.

    Parameters
    ----------
    panels : dict of str to dict of str to dict of str to sequence of (float, float)
        By the panel's title, by algorithm, by kind ("measured", "simulated", "predicted", and for
        upper bounds "predicted at most"): bytes and seconds, all above 0.
    title : str or None, default: None
        What stands above it.

    Returns
    -------
    matplotlib.figure.Figure
        A figure that no global state knows of; it shows itself in a notebook.

    Raises
    ------
    ValueError
        If there is no panel, or a kind is unknown.
    """
    kinds = {kind for lines in panels.values() for by_kind in lines.values() for kind in by_kind}
    if not panels or not kinds <= set(_STYLES):
        known = ", ".join(_STYLES)
        raise ValueError(f"panels must have lines of the kinds {known}, got {sorted(kinds)}")
    algorithms = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    width = 0.75 + len(panels) * _PANEL + _LEGEND
    figure = Still(f"times of {', '.join(algorithms)}", (width, _TALL + 1.05))
    for index, (name, lines) in enumerate(panels.items()):
        axes = figure.put(0.75 + index * _PANEL, 0.55, _PANEL - 0.5, _TALL)
        _draw_panel(axes, lines, algorithms)
        axes.set_title(name, fontsize=9, loc="left")
    figure.axes[0].set_ylabel("time of one all-reduce", fontsize=9)
    _put_legend(figure.axes[-1], algorithms, [kind for kind in _STYLES if kind in kinds])
    if title:
        figure.text(0.012, 1 - 0.2 / (_TALL + 1.05), title, fontsize=10, va="center")
    return figure


def _draw_panel(
    axes: Axes, lines: Mapping[str, Mapping[str, Points]], algorithms: list[str]
) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    for name, by_kind in lines.items():
        number = algorithms.index(name) % len(_MARKERS)
        for kind, points in by_kind.items():
            of_prediction = "_" if len(points) == 1 else None  # a point alone makes no line
            axes.plot(
                [n_bytes for n_bytes, _ in points], [seconds for _, seconds in points],
                color=_COLOURS[number], linestyle=_STYLES[kind], linewidth=1.4, markersize=4,
                marker=of_prediction if kind.startswith("predicted") else _MARKERS[number],
            )  # fmt: skip
    sizes = sorted({n for by_kind in lines.values() for ps in by_kind.values() for n, _ in ps})
    axes.set_xticks(sizes[:: -(-len(sizes) // 6)])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda n_bytes, _: in_bytes(round(n_bytes))))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda seconds, _: _power_of_ten(seconds)))
    axes.tick_params(length=2.5, labelsize=8, colors=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color=LINE, linewidth=0.5)
    axes.set_xlabel("bytes of each rank's array", fontsize=9)


def _power_of_ten(seconds: float) -> str:
    unit_s, unit = time_unit(seconds * (1 + 1e-9))
    return f"{seconds / unit_s:,.3g} {unit}"


def _put_legend(axes: Axes, algorithms: list[str], kinds: list[str]) -> None:
    """Say what colours and dashes mean, to the right of the last panel."""
    handles = [
        Line2D([], [], color=_COLOURS[k % 8], marker=_MARKERS[k % 8], markersize=4, label=name)
        for k, name in enumerate(algorithms)
    ]
    handles += [Line2D([], [], color=INK, linestyle=_STYLES[kind], label=kind) for kind in kinds]
    axes.legend(
        handles=handles, fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.02)
    )
