"""A map of a surface: lines of equal height, with paths and marks on it."""

import reprlib
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from course_lib.viz.charts.curves import MOST
from course_lib.viz.colours import CURVE_COLOURS, OKABE_ITO
from course_lib.viz.stills.parts import INK, LINE, SOFT, Still

__all__ = ["contours"]

_WIDTH, _PANEL_HEIGHT = 9.0, 3.0  # inches
_MARKERS = "os^Dv"

Numbers = Sequence[float] | NDArray[np.float64]


def contours(
    heights: NDArray[np.float64],
    x: Numbers,
    y: Numbers,
    paths: Mapping[str, NDArray[np.float64]] | None = None,
    *,
    marks: Mapping[str, Sequence[float]] | None = None,
    levels: Sequence[float] | None = None,
    title: str | None = None,
    x_label: str = "w0",
    y_label: str = "w1",
) -> Still:
    """Draw a surface from above, once for each path, or once where there is none.

    Parameters
    ----------
    heights : numpy.ndarray, shape (len(y), len(x))
        The loss at each point of the grid.
    x, y : sequence of float
        The grid's coordinates.
    paths : dict of str to numpy.ndarray, shape (steps + 1, 2), or None, default: None
        Where a training went, by its name; each has a panel of its own, beside the others.
    marks : dict of str to (float, float) or None, default: None
        Points to mark in every panel, by their names.
    levels : sequence of float or None, default: None
        The heights to draw lines at; None takes ten, closer together where it is low. A surface
        that is as high everywhere has no line, and says how high.
    title : str or None, default: None
        What stands above the first panel.
    x_label, y_label : str
        What the axes show.

    Returns
    -------
    matplotlib.figure.Figure
        A figure that no global state knows of; it shows itself in a notebook.

    Raises
    ------
    ValueError
        If the heights do not fit the grid, none is finite, the grid's coordinates or ``levels`` do
        not rise, or a path has another shape.
    """
    _check(heights, x, y, paths or {})
    panels: list[tuple[str, NDArray[np.float64] | None]] = list((paths or {}).items())
    panels = panels or [("", None)]
    heights = _with_finite(heights)
    drawn = _levels(heights) if levels is None else _rising("levels", levels, 1)
    height = _PANEL_HEIGHT + (1.15 if title else 0.85)
    figure = Still(f"map: {', '.join(paths or marks or {}) or 'no path'}", (_WIDTH, height))
    width = min(5.0, (_WIDTH - 0.75) / len(panels))
    for number, (name, path) in enumerate(panels):
        axes = figure.put(0.7 + number * width, 0.5, width - 0.15, _PANEL_HEIGHT)
        _draw_lines(axes, x, y, heights, drawn, named=number == 0)
        if number == 0:
            axes.set_ylabel(y_label, fontsize=9)
        else:
            axes.tick_params(labelleft=False)
        if path is not None:
            _draw_path(axes, np.asarray(path), number)
        _draw_marks(axes, marks or {})
        axes.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
        axes.set_xlabel(x_label, fontsize=9)
        axes.set_title(name, fontsize=9, loc="left")
        axes.tick_params(labelsize=8, colors=INK)
        axes.spines[:].set_color(LINE)
    if title:
        place = 0.7 / _WIDTH, 1 - 0.2 / height
        figure.text(*place, title, fontsize=11, fontweight="bold", va="center")
    return figure


def _check(
    heights: NDArray[np.float64], x: Numbers, y: Numbers, paths: Mapping[str, NDArray[np.float64]]
) -> None:
    """Refuse what does not fit together."""
    _rising("x", x, 2)
    _rising("y", y, 2)
    if np.shape(heights) != (len(y), len(x)):
        raise ValueError(
            f"heights must have shape ({len(y)}, {len(x)}), a row for each y, got "
            f"{np.shape(heights)}"
        )
    for name, path in paths.items():
        if np.ndim(path) != 2 or np.shape(path)[1] != 2:
            raise ValueError(f"paths[{name!r}] must have shape (steps, 2), got {np.shape(path)}")


def _rising(argument: str, given: Numbers, least: int) -> NDArray[np.float64]:
    """Return numbers that rise, or refuse others."""
    found = np.asarray(given, dtype=float)
    if found.ndim != 1 or len(found) < least or not (np.diff(found) > 0).all():
        raise ValueError(
            f"{argument} must be {least} or more numbers that rise, got {reprlib.repr(given)}"
        )
    return found


def _with_finite(heights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return heights with NaN where there is no finite one."""
    found = np.array(heights, dtype=float)
    found[~(np.abs(found) <= MOST)] = np.nan
    if np.isnan(found).all():
        raise ValueError("heights must have a finite number, got none")
    return found


def _levels(heights: NDArray[np.float64]) -> NDArray[np.float64]:
    low, high = float(np.nanmin(heights)), float(np.nanmax(heights))
    return np.unique(low + (high - low) * np.linspace(0.05, 0.95, 10) ** 2)  # of almost one height


def _draw_lines(
    axes: Axes,
    x: Numbers,
    y: Numbers,
    heights: NDArray[np.float64],
    levels: Numbers,
    *,
    named: bool,
) -> None:
    """Draw the lines of equal height, or say that it is the same everywhere."""
    if np.nanmin(heights) < np.nanmax(heights):
        lines = axes.contour(x, y, heights, levels=levels, colors=SOFT, linewidths=0.7)
        if named:
            axes.clabel(lines, fontsize=7, fmt="%.3g", colors=SOFT)
    elif named:
        axes.text(
            0.98, 0.03, f"{np.nanmin(heights):.3g} everywhere", fontsize=8, color=INK, ha="right",
            transform=axes.transAxes, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        )  # fmt: skip


def _draw_path(axes: Axes, path: NDArray[np.float64], number: int) -> None:
    colour = OKABE_ITO[CURVE_COLOURS[number % len(CURVE_COLOURS)]]
    dense = len(path) > 60
    axes.plot(
        path[:, 0], path[:, 1], color=colour, linewidth=0.8 if dense else 1.4,
        marker="" if dense else "o", markersize=3,
    )  # fmt: skip
    axes.plot(*path[0], marker="s", color=colour, markersize=6)


def _draw_marks(axes: Axes, marks: Mapping[str, Sequence[float]]) -> None:
    for number, (name, (x, y)) in enumerate(marks.items()):
        marker = _MARKERS[number % len(_MARKERS)]
        axes.plot(x, y, marker=marker, color=INK, markersize=7, linestyle="")
        axes.annotate(
            name, (x, y), xytext=(7, 6), textcoords="offset points", fontsize=8.5, color=INK,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        )  # fmt: skip
