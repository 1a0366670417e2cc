"""Computing above, exchanging below: one rank's step as bars, several runs under each other."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from course_lib.viz.colours import OKABE_ITO, ink_on
from course_lib.viz.stills.parts import INK, LINE, WORK, Still, last_word
from course_lib.words.units import time_unit

if TYPE_CHECKING:
    from course_lib.trace.trace import Trace

__all__ = ["draw_gantt"]

_WIDTH, _LANE = 9.0, 0.36  # inches
_LEFT, _RIGHT = 1.5, 0.75
_LETTER = 0.075  # inches
_ROWS = 2.6  # of each run: a lane for computing, one for exchanging, and a gap


def draw_gantt(
    runs: Mapping[str, "Trace"], labels: Mapping[str, Sequence[str]] | None = None, *,
    rank: int = 0, title: str | None = None,
) -> Still:  # fmt: skip
    """Draw when one rank computed and when it was inside a collective.

    Time begins with the rank's first computing: what comes before is left out.

    Parameters
    ----------
    runs : dict of str to Trace
        The runs by name, drawn under each other on one axis of time.
    labels : dict of str to sequence of str or None, default: None
        By the run's name, what its collectives were for, in the order in which they began; then
        from the start again. Without them they have their names.
    rank : int, default: 0
        Whose bars.
    title : str or None, default: None
        What stands above it.

    Returns
    -------
    matplotlib.figure.Figure
        A figure that no global state knows of; it shows itself in a notebook. Where a collective
        begins before another has ended, its bar is lower.

    Raises
    ------
    ValueError
        If there is no run, or one in which the rank never computes.
    """
    if not runs:
        raise ValueError("runs must name one trace or more, got none")
    bars = {name: _Bars(trace, rank, name) for name, trace in runs.items()}
    end_s = max(run.end_s for run in bars.values())
    unit_s, unit = time_unit(end_s)
    height = _ROWS * _LANE * len(runs)
    figure = Still(f"computing and exchanging of {', '.join(runs)}", (_WIDTH, height + 0.75))
    axes = figure.put(_LEFT, 0.42, _WIDTH - _LEFT - _RIGHT, height)
    axes.set_xlim(0, end_s / unit_s)
    axes.set_ylim(_ROWS * len(runs) - 0.9, -0.6)
    pen = _Pen(axes, unit_s, (_WIDTH - _LEFT - _RIGHT) / _LETTER / end_s)
    told = labels or {}
    each = sorted({text for texts in told.values() for text in texts})  # one colour in all runs
    colours = {text: OKABE_ITO[index % len(OKABE_ITO)] for index, text in enumerate(each)}
    ticks, names = [], []
    for number, (name, run) in enumerate(bars.items()):
        lane = _ROWS * number
        run.draw(pen, lane, told.get(name, ()), colours)
        ticks += [lane, lane + 0.8]
        names += [f"{name}: computes", "exchanges"]
        axes.text(1.01 * end_s / unit_s, lane + 0.5, f"{run.end_s / unit_s:.4g} {unit}",
                  fontsize=9, va="center", color=INK)  # fmt: skip
    axes.set_yticks(ticks, names)
    axes.tick_params(length=2.5, labelsize=8.5, colors=INK)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=LINE, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_xlabel(f"{next(iter(runs.values())).clock} {unit}", fontsize=8.5, color=INK)
    axes.set_title(title or f"rank {rank}", fontsize=9, loc="left")
    return figure


class _Bars:
    """What one rank did in one run, from its first computing on."""

    def __init__(self, trace: "Trace", rank: int, name: str) -> None:
        spans = [span for span in trace.computes if span.rank == rank]
        if not spans:
            raise ValueError(f"rank must be one that computes, got {rank} in the run {name!r}")
        start_s = min(span.start_s for span in spans)
        self.end_s = trace.end_s - start_s
        self.computes = [
            (span.label, span.start_s - start_s, span.end_s - start_s) for span in spans
        ]
        self.exchanges = sorted(
            (event.entered_s - start_s, event.left_s - start_s, event.name)
            for event in trace.collectives
            if event.rank == rank and event.entered_s >= start_s
        )

    def draw(
        self, pen: "_Pen", lane: float, labels: Sequence[str], colours: Mapping[str, str]
    ) -> None:
        """Draw the two lanes."""
        for label, start_s, end_s in self.computes:
            pen.bar(lane, start_s, end_s, WORK, "white", label)
        free_s = [0.0, 0.0, 0.0]
        for number, (start_s, end_s, name) in enumerate(self.exchanges):
            row = next((r for r, free in enumerate(free_s) if free <= start_s + 1e-12), 2)
            free_s[row] = end_s
            text = labels[number % len(labels)] if labels else name
            colour = colours.get(text, OKABE_ITO[number % len(OKABE_ITO)])
            pen.bar(lane + 0.75 + 0.36 * row, start_s, end_s, colour, ink_on(colour), text, 0.34)


class _Pen:
    """Draws bars, with as much of their text as there is room for."""

    def __init__(self, axes: Axes, unit_s: float, letters_a_second: float) -> None:
        self.axes, self.unit_s, self.letters_a_second = axes, unit_s, letters_a_second

    def bar(
        self, y: float, start_s: float, end_s: float, colour: str, ink: str, text: str,
        thick: float = 0.8,
    ) -> None:  # fmt: skip
        """Draw one bar; where its text is too long, the last word of it."""
        room = (end_s - start_s) * self.letters_a_second
        shown = last_word(text, room)
        self.axes.barh(
            y, (end_s - start_s) / self.unit_s, left=start_s / self.unit_s, height=thick,
            color=colour, edgecolor="white", linewidth=0.6,
        )  # fmt: skip
        self.axes.text((start_s + end_s) / 2 / self.unit_s, y, shown, color=ink, fontsize=7.5,
                       ha="center", va="center_baseline")  # fmt: skip
