"""A loss over two parameters, and the replicas that walk on it, under the player's clock."""

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import traitlets
from numpy.typing import NDArray

from course_lib.viz.animation.chart import check_range
from course_lib.viz.animation.picture import Picture
from course_lib.viz.animation.script import read_css, read_esm
from course_lib.viz.charts.curves import MOST, is_drawn
from course_lib.words.units import time_unit

if TYPE_CHECKING:
    from course_lib.trace.trace import Trace

__all__ = ["Landscape", "landscape", "walks_of"]

Grid = NDArray[np.float64]
Surface = Callable[[Grid, Grid], Grid]
Walk = dict[str, Any]

_COLUMNS, _ROWS, _N_LEVELS, _MOST_POINTS = 48, 32, 12, 300
_FARTHEST = 1e30
"""Where walks are cut: the square of such a parameter, and of a loss there, is a finite number."""


class Landscape(Picture):
    """Replicas on a loss surface; make one with ``landscape(runs, surface)``.

    Attributes
    ----------
    landscape : dict
        ``heights`` on a grid, contour ``lines``, the ranges of both parameters, and the ``walks``.
    """

    _esm = read_esm("landscape")
    _css = read_css("landscape")
    shown = ("landscape",)
    kind = traitlets.Unicode("landscape").tag(sync=True)
    landscape: Any = traitlets.Dict().tag(sync=True)

    def still(self) -> bytes:
        """Draw the surface and all trails with matplotlib, as PNG."""
        from course_lib.viz.charts.landscape_still import landscape_still

        return landscape_still(self.landscape, self.title).to_png()

    def __repr__(self) -> str:
        """Summarise in one line that holds no time."""
        said: dict[str, int] = {}
        for walk in self.landscape["walks"]:
            said[walk["name"]] = said.get(walk["name"], 0) + 1
        each = [f"{name} ({n} dot{'s' * (n != 1)})" for name, n in said.items()]
        return f"Landscape({', '.join(each)})"


def landscape(
    runs: Mapping[str, Any],
    surface: Surface | tuple[Any, Any, Any],
    *,
    start: tuple[float, float] | None = None,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    labels: tuple[str, str] = ("w0", "w1"),
    title: str = "",
    dots: str = "replicas",
) -> Landscape:
    """Draw a loss over two parameters, and one dot a replica that moves on it.

    Parameters
    ----------
    runs : dict of str to Result, Trace or array
        By name. A trace holds the points as notes ``"w"`` of two numbers, as the schemes write them
        for a model of two parameters; a server notes its own, and the staleness of each update is
        drawn as an arrow from the place for which the gradient was computed. An array has shape
        (steps, 2), or (replicas, steps, 2); its clock counts steps.
    surface : callable, or (model, X, y)
        The loss of two arrays of parameters, element by element; or a model of two parameters and
        its examples.
    start : (float, float) or None, default: None
        Where all stood at first: schemes note where they are *after* each step.
    x_range, y_range : (float, float) or None, default: None
        From where to where the parameters go; None takes what the walks need. Where pictures are
        compared, as ``explore`` does, give them.
    labels : (str, str), default: ("w0", "w1")
        What the axes say.
    title : str, default: ""
        What stands above it.
    dots : str, default: "replicas"
        What several dots are called, where a server is one of them.

    Returns
    -------
    Landscape
        A picture that moves; where no script runs, the surface with all trails.

    Raises
    ------
    ValueError
        If there is no run, a trace has no note ``"w"`` of two numbers, an array has another shape,
        a run does not begin at finite numbers, or a range is none.

    Notes
    -----
    A walk that diverges is drawn up to where it leaves what can be drawn: a parameter of more than
    1e30, or none that is a number. The caption says after which step, or time, that is.

    Examples
    --------
    >>> import numpy as np
    >>> down = np.array([[2.0, 1.0], [1.0, 0.5], [0.5, 0.25]])
    >>> landscape({"gradient descent": down}, lambda a, b: a**2 + b**2)
    Landscape(gradient descent (1 dot))
    """
    if not runs:
        raise ValueError("runs must hold at least one run by name, got none")
    walks = [walk for name, given in runs.items() for walk in walks_of(name, given, start)]
    x_range = check_range("x_range", x_range) or _range_of([x for one in walks for x in one["x"]])
    y_range = check_range("y_range", y_range) or _range_of([y for one in walks for y in one["y"]])
    loss = surface if callable(surface) else _loss_of(*surface)
    end = max((walk["t"][-1] for walk in walks), default=0.0)
    clock = {walk["clock"] for walk in walks}
    factor, unit = time_unit(end) if clock == {"s"} else (1.0, "steps")
    for walk in walks:
        with np.errstate(all="ignore"):  # what is no number is said to be none
            losses = np.broadcast_to(loss(np.array(walk["x"]), np.array(walk["y"])), len(walk["x"]))
        walk["loss"] = [_rounded(v) if is_drawn(v) else None for v in losses]
        walk["t"] = [_rounded(t / factor) for t in walk["t"]]
        if walk["left"]:
            at = walk["t"][-1]
            walk["left"] = f"after step {at:g}" if unit == "steps" else f"after {at:g} {unit}"
        walk["arrows"] = [[_rounded(t / factor), x, y] for t, x, y in walk["arrows"]]
    drawn = {
        "x_range": [_rounded(v) for v in x_range], "y_range": [_rounded(v) for v in y_range],
        "labels": list(labels), "unit": unit, "end": _rounded(end / factor), "walks": walks,
        **({"dots": dots} if dots != "replicas" else {}),
        **_surface(loss, x_range, y_range),
    }  # fmt: skip
    return Landscape(landscape=drawn, title=title)


def walks_of(name: str, given: Any, start: tuple[float, float] | None = None) -> list[Walk]:
    """Read off who was where when: one walk for each replica.

    Parameters
    ----------
    name : str
        The run's name.
    given : Result, Trace or array
        As in ``landscape``.
    start : (float, float) or None, default: None
        Where all stood at first, where ``given`` is a run.

    Returns
    -------
    list of dict
        ``name``, ``rank``, ``replicas`` (more than 1 where all were in the same places), ``clock``
        ("s" or "steps"), times ``t``, places ``x`` and ``y``, ``arrows`` as (time, x, y) from
        where the step's gradient was computed, and ``left``: whether it went further, to where
        nothing can be drawn.
    """
    trace: Any = given if hasattr(given, "notes_named") else getattr(given, "trace", None)
    if hasattr(trace, "notes_named"):  # an array has something else of this name
        return _walks_of_trace(name, trace, start)
    places = np.asarray(given, dtype=float)
    places = places[None] if places.ndim == 2 else places
    if places.ndim != 3 or places.shape[2] != 2 or not places.shape[1]:
        raise ValueError(
            f"runs[{name!r}] must have shape (steps, 2) or (replicas, steps, 2), "
            f"got {np.asarray(given).shape}"
        )
    return [
        _walk(name, rank, "steps", [float(k) for k in range(len(walk))], walk, [])
        for rank, walk in enumerate(places)
    ]


def _walks_of_trace(name: str, trace: "Trace", start: tuple[float, float] | None) -> list[Walk]:
    by_rank: dict[int, list[tuple[float, Any]]] = {}
    for note in trace.notes_named("w"):
        place = np.asarray(note.value, dtype=float).ravel()
        if len(place) == 2:
            by_rank.setdefault(note.rank, []).append((note.time_s, place))
    if not by_rank:
        raise ValueError(
            f'runs[{name!r}] has no note "w" of two numbers: the model needs two parameters, and '
            'the program comm.note("w", w)'
        )
    if start is not None:
        by_rank = {rank: [(0.0, np.array(start)), *steps] for rank, steps in by_rank.items()}
    walks = []
    for rank, steps in sorted(by_rank.items()):
        ages = [int(n.value) for n in trace.notes_named("staleness") if n.rank == rank]
        ages = [0] * (start is not None) + ages
        arrows = _arrows(steps, ages) if len(ages) == len(steps) else []
        times, places = [t for t, _ in steps], np.array([place for _, place in steps])
        walks.append(_walk(name, rank, "s", times, places, arrows))
    if len(walks) > 1 and all(w["x"] == walks[0]["x"] and w["y"] == walks[0]["y"] for w in walks):
        return [{**walks[0], "replicas": len(walks)}]
    return walks


def _arrows(steps: list[tuple[float, Any]], ages: list[int]) -> list[tuple[float, float, float]]:
    """Say of each update that was old where its gradient was computed: so many updates before."""
    return [
        (time_s, float(steps[k - 1 - age][1][0]), float(steps[k - 1 - age][1][1]))
        for k, ((time_s, _), age) in enumerate(zip(steps, ages, strict=True))
        if age and k - 1 - age >= 0
    ]


def _walk(
    name: str, rank: int, clock: str, times: list[float], places: Grid, arrows: list[Any]
) -> Walk:
    far = np.flatnonzero(~(np.abs(places) <= _FARTHEST).all(axis=1))
    n_drawn = int(far[0]) if len(far) else len(times)
    if not n_drawn:
        raise ValueError(
            f"runs[{name!r}] must begin at two numbers of up to {_FARTHEST:g}, got "
            f"{tuple(map(float, places[0]))}"
        )
    times, arrows = times[:n_drawn], [arrow for arrow in arrows if arrow[0] <= times[n_drawn - 1]]
    stride = max(1, -(-len(times) // _MOST_POINTS))
    kept = [*range(0, len(times), stride)]
    kept += [len(times) - 1] if (len(times) - 1) % stride else []
    return {
        "name": str(name), "rank": rank, "replicas": 1, "clock": clock,
        "t": [times[k] for k in kept],
        "x": [_rounded(places[k][0]) for k in kept], "y": [_rounded(places[k][1]) for k in kept],
        "arrows": [[t, _rounded(x), _rounded(y)] for t, x, y in arrows] if stride == 1 else [],
        "left": n_drawn < len(places),
    }  # fmt: skip


def _loss_of(model: Any, X: Any, y: Any) -> Surface:
    if model.n_parameters != 2:
        raise ValueError(f"surface needs a model of 2 parameters, got {model.n_parameters}")

    def loss(a: Grid, b: Grid) -> Grid:
        places = np.stack([np.ravel(a), np.ravel(b)], axis=1)
        found = np.array([model.loss(place, (X, y)) for place in places])
        return found.reshape(np.shape(a))

    return loss


def _surface(loss: Surface, x_range: Any, y_range: Any) -> dict[str, Any]:
    """Compute heights on a grid, 0 to 255, and contour lines; low losses get more of both."""
    from course_lib.viz.charts.landscape_still import contour_lines

    x = np.linspace(float(x_range[0]), float(x_range[1]), _COLUMNS)
    y = np.linspace(float(y_range[0]), float(y_range[1]), _ROWS)
    with np.errstate(all="ignore"):  # far out it may have no finite heights
        z = np.array(np.broadcast_to(loss(*np.meshgrid(x, y)), (_ROWS, _COLUMNS)), dtype=float)
    z[~(np.abs(z) <= MOST)] = np.nan
    if np.isnan(z).all():
        raise ValueError(
            f"surface must have finite heights between {x_range} and {y_range}, got none"
        )
    low, high = float(np.nanmin(z)), float(np.nanmax(z))
    scaled = np.sqrt(np.clip((z - low) / ((high - low) or 1.0), 0, 1))
    levels = np.unique(low + (high - low) * np.linspace(0, 1, _N_LEVELS + 2)[1:-1] ** 2)
    return {
        "heights": [int(v) for v in np.nan_to_num(255 * scaled, nan=255.0).round().ravel()],
        "columns": _COLUMNS, "rows": _ROWS,
        "lines": [
            [_rounded(level), [[_rounded(v) for v in point] for point in line]]
            for level, line in (contour_lines(x, y, z, levels) if low < high else ())
        ],
    }  # fmt: skip


def _range_of(values: list[float]) -> tuple[float, float]:
    found = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(found), max(found)
    margin = 0.25 * (high - low) or 1.0
    return low - margin, high + margin


def _rounded(value: float) -> float:
    return float(f"{float(value):.5g}")
