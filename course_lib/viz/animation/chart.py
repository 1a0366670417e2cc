"""A chart as data: curves over an axis, or bars with their values; ``explore`` moves them."""

import math
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import traitlets

from course_lib.viz.animation.picture import Picture
from course_lib.viz.animation.script import read_css, read_esm
from course_lib.viz.charts.curves import MOST, gaps_of, is_drawn, values_of, with_gaps
from course_lib.viz.tables import Table
from course_lib.words.units import in_bytes, in_seconds

__all__ = ["Chart", "chart", "check_range"]

Points = Sequence[tuple[float, float]]
Range = tuple[float, float]


class Chart(Picture):
    """Curves or bars; make one with ``chart(data)``.

    Attributes
    ----------
    chart : dict
        What is drawn: ``lines`` or ``bars``, and the axes.
    """

    _esm = read_esm("chart")
    _css = read_css("chart")
    shown = ("chart",)
    kind = traitlets.Unicode("chart").tag(sync=True)
    chart: Any = traitlets.Dict().tag(sync=True)

    def still(self) -> bytes:
        """Draw the chart with matplotlib, as PNG."""
        from course_lib.viz.charts.chart_still import chart_still

        return chart_still(self.chart, self.title).to_png()

    def __repr__(self) -> str:
        """Summarise in one line."""
        what = "bars" if "bars" in self.chart else "curves"
        names = [bar[0] for bar in self.chart.get("bars", [])] or [
            line["name"] for line in self.chart["lines"] if not line["faint"]
        ]
        return f"Chart({what}: {', '.join(names)})"


def chart(
    data: Mapping[str, float] | Mapping[str, Points],
    *,
    x_label: str = "",
    y_label: str = "",
    x_log: bool = False,
    y_log: bool = False,
    x_range: Range | None = None,
    y_range: Range | None = None,
    x_ticks: Sequence[float] | None = None,
    band: tuple[float, float, str] | None = None,
    points: Mapping[str, tuple[float, float]] | None = None,
    spread: Mapping[str, Sequence[Points]] | None = None,
    told: str = "",
    reference: str = "",
    below: "Table | Chart | None" = None,
    unit: str = "",
    title: str = "",
    said: str = "",
) -> Chart:
    """Show numbers by name as bars, or lists of points by name as curves.

    Parameters
    ----------
    data : dict of str to float, or dict of str to list of (float, float)
        The bars' lengths, NaN for one that is not told, or the points of each curve. Where a value
        is no finite number a curve has a gap, and a cross at the edge where it leaves.
    x_label, y_label : str
        What the axes say, with their units.
    x_log, y_log : bool, default: False
        Whether an axis is logarithmic; the bars' axis is ``x``.
    x_range, y_range : (float, float) or None, default: None
        From where to where an axis goes; None takes what the data needs. Where pictures are
        compared, as ``explore`` does, give them, so that the axes stay where they are.
    x_ticks : sequence of float or None, default: None
        Where the axis of curves is labelled; None chooses.
    band : (float, float, str) or None, default: None
        A band across the curves, from and to which value, and what it says.
    points : dict of str to (float, float) or None, default: None
        Single points with their names: published results, for example.
    spread : dict of str to list of curves or None, default: None
        Thin curves behind the curve of that name: single seeds behind their median.
    told : str, default: ""
        The bar that is marked.
    reference : str, default: ""
        The curve with which the others are compared: it is grey.
    below : Table, Chart or None, default: None
        A table below the picture, see ``table``, or another chart, that follows the same settings.
    unit : {"", "s", "bytes"} or str, default: ""
        Of the bars; seconds and bytes are written as people read them.
    title, said : str
        What stands above it, and a sentence below, which screen readers read when it changes.

    Returns
    -------
    Chart
        A picture; where no script runs, a still.

    Raises
    ------
    TypeError, ValueError
        If there is nothing to draw, a curve is no list of points, ``told`` names no bar,
        ``reference`` or ``spread`` no curve, a range is none, or a logarithmic axis would hold 0 or
        less.

    Examples
    --------
    >>> chart({"ring": 0.0014, "tree": 0.0031}, unit="s")
    Chart(bars: ring, tree)
    >>> chart({"2 workers": [(1, 0.9), (2, 0.95)]}, y_label="efficiency")
    Chart(curves: 2 workers)
    """
    if not data:
        raise ValueError("data must hold a number or a curve, got nothing")
    named: dict[str, Any] = {str(name): value for name, value in data.items()}
    if len(named) < len(data):
        raise ValueError(f"data must have names that differ when written, got {list(data)}")
    points = {str(name): point for name, point in (points or {}).items()}
    spread = {str(name): seeds for name, seeds in (spread or {}).items()}
    told, reference = str(told), str(reference)
    _check_marks({f"points[{name!r}]": at for name, at in points.items()}, 2)
    _check_marks({"band": band[:2]} if band else {}, 2)
    _check_marks({"x_ticks": x_ticks} if x_ticks else {})
    x_range = check_range("x_range", x_range, x_log)
    y_range = check_range("y_range", y_range, y_log)
    drawn: dict[str, Any] = {"x_label": x_label, "y_label": y_label, "x_log": x_log, "said": said}
    is_bars = all(isinstance(value, Real) for value in named.values())
    _check_names("told", [told] * bool(told), named if is_bars else {}, "bars")
    curves = {} if is_bars else named
    _check_names("reference", [reference] * bool(reference), curves, "curves")
    _check_names("spread", spread, curves, "curves")
    if is_bars:
        bars = {name: float(value) for name, value in named.items()}
        drawn |= _bars(bars, x_log, x_range, told, unit)
    else:
        behind = [(name, seed) for name, seeds in spread.items() for seed in seeds]
        lines = [_line(*one, faint=True) for one in behind]
        lines += [_line(*one) for one in named.items()]
        lines = [{**one, "reference": True} if one["name"] == reference else one for one in lines]
        marks = {"x_ticks": x_ticks, "band": band}
        drawn |= {"y_log": y_log, **_curves(lines, points, drawn, x_range, y_range, y_log)}
        drawn |= {name: list(mark) for name, mark in marks.items() if mark}
    if isinstance(below, Chart):
        drawn["under"] = below.chart
    elif below is not None:
        drawn["below"] = [below.head, *below.rows]
    return Chart(chart=drawn, title=title)


def check_range(argument: str, given: Range | None, log: bool = False) -> Range | None:
    """Return the range of an axis, or refuse what is none.

    Parameters
    ----------
    argument : str
        What it is called.
    given : (float, float) or None
        From where to where.
    log : bool, default: False
        Whether the axis is logarithmic.

    Returns
    -------
    (float, float) or None
        The range.

    Raises
    ------
    ValueError
        Naming the argument, what was expected and what was given.
    """
    if given is None:
        return None
    try:
        low, high = map(float, given)
        fits = low < high and is_drawn(low) and is_drawn(high) and (not log or low >= 1 / MOST)
    except (TypeError, ValueError):
        fits = False
    if not fits:
        least = f"{1 / MOST:g}, the axis being logarithmic," if log else f"{-MOST:g}"
        raise ValueError(
            f"{argument} must be two numbers from {least} to {MOST:g}, the lower one first, got "
            f"{given!r}"
        )
    return low, high


def _check_marks(given: Mapping[str, Sequence[float]], how_many: int | None = None) -> None:
    """Refuse places in a picture that are none."""
    for argument, numbers in given.items():
        if how_many not in (None, len(numbers)) or not all(map(is_drawn, numbers)):
            many = f"{how_many} " if how_many else ""
            raise ValueError(f"{argument} must be {many}finite numbers, got {numbers!r}")


def _check_names(argument: str, given: Iterable[str], known: Iterable[str], what: str) -> None:
    """Refuse an argument that names something else than what is drawn."""
    for name in given:
        if name not in known:
            there = f"one of the {what} {list(known)}" if known else f"{what}, and data has none"
            raise ValueError(f"{argument} must name {there}, got {name!r}")


def _bars(
    values: dict[str, float], log: bool, x_range: Range | None, told: str, unit: str
) -> dict[str, Any]:
    return {
        "x_range": list(x_range or _range_of(values.values(), log, from_zero=True)),
        "bars": [
            [
                name,
                _rounded(value) if is_drawn(value) else 0.0,
                _in_words(value, unit),
                name == told,
            ]
            for name, value in values.items()
        ],
    }


def _curves(
    lines: list[dict[str, Any]],
    points: Mapping[str, tuple[float, float]],
    drawn: Mapping[str, Any],
    x_range: Range | None,
    y_range: Range | None,
    y_log: bool,
) -> dict[str, Any]:
    xs = [at for line in lines for at in line["x"]] + [at for at, _ in points.values()]
    ys = [at for line in lines for at in line["y"] if at is not None]
    ys += [at for _, at in points.values()]
    return {
        "lines": lines,
        "x_range": list(x_range or _range_of(xs, drawn["x_log"])),
        "y_range": list(y_range or _range_of(ys, y_log)),
        **({"points": [[name, *at] for name, at in points.items()]} if points else {}),
    }


def _line(name: str, points: Points, faint: bool = False) -> dict[str, Any]:
    try:
        kept = [(_rounded(x), _rounded(y)) for x, y in with_gaps(points)]
    except (TypeError, ValueError) as error:
        raise TypeError(
            "data must hold numbers alone, for bars, or curves alone, each a list of points "
            f"(x, y); got {reprlib.repr(points)} for {name!r}"
        ) from error
    gaps = gaps_of(kept)
    return {
        "name": name,
        "faint": faint,
        "x": [x for x, _ in kept],
        "y": values_of(kept),
        **({"gaps": gaps} if gaps else {}),
    }


def _range_of(values: Any, log: bool, from_zero: bool = False) -> tuple[float, float]:
    found = [value for value in values if is_drawn(value)]
    if not found:
        raise ValueError("data must hold a finite number, got none")
    low, high = min(found), max(found)
    if log:
        if low < 1 / MOST:
            needs = "values above 0" if low <= 0 else f"values from {1 / MOST:g} on"
            raise ValueError(f"a logarithmic axis needs {needs}, got {low:g}")
        return (low / 2 if from_zero else low), (high if high > low else 2 * low)
    if from_zero:
        return min(0.0, low), high if high > 0 else 0.0 if low < 0 else 1.0
    margin = 0.05 * (high - low) or 0.5
    return low - margin, high + margin


def _in_words(value: float, unit: str) -> str:
    if math.isnan(value):
        return "?"
    if unit == "s" and math.isfinite(value):
        return in_seconds(value)
    if unit == "bytes" and math.isfinite(value):
        return in_bytes(value)
    return f"{value:,.4g} {unit}".rstrip()


def _rounded(value: float) -> float:
    return float(f"{float(value):.5g}")
