"""Loss curves that grow under one clock; the axis is updates, seconds, bytes or epochs."""

import bisect
import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import traitlets

from course_lib.viz.animation.picture import Picture
from course_lib.viz.animation.script import read_css, read_esm
from course_lib.viz.charts.curves import is_drawn, loss_curve
from course_lib.words.units import three_digits, time_unit

if TYPE_CHECKING:
    from course_lib.trace.trace import Trace

__all__ = ["Race", "race"]

_MOST_POINTS = 300
_AXES = {"updates": "updates", "seconds": "time", "bytes": "bytes sent", "epochs": "epochs"}


class Race(Picture):
    """Runs against each other; make one with ``race({name: run})``.

    Attributes
    ----------
    race : dict
        ``axes``: what may lie across, with its unit and its end; ``runners``: of each run the
        points on every axis, the losses, where it reached the target (``"there"``: by axis the
        place and its text), and how far its replicas lie apart; the target.
    """

    _esm = read_esm("race")
    _css = read_css("race")
    shown = ("race",)
    kind = traitlets.Unicode("race").tag(sync=True)
    race: Any = traitlets.Dict().tag(sync=True)

    def still(self) -> bytes:
        """Draw the whole curves with matplotlib, as PNG."""
        from course_lib.viz.charts.race_still import race_still

        return race_still(self.race, self.title).to_png()

    def __repr__(self) -> str:
        """Summarise in one line that holds no time."""
        runners = self.race["runners"]  # of long runs with fewer points than updates
        said = [f"{one['name']} ({one['updates'][-1]:g} updates)" for one in runners]
        return f"Race({', '.join(said)})"


def race(
    runs: Mapping[str, Any],
    *,
    replicas: bool = False,
    target: float | None = None,
    steps_per_epoch: float | Mapping[str, float] | None = None,
    reference: str = "",
    y_log: bool = False,
    note: str = "loss_partial",
    title: str = "",
) -> Race:
    """Let the losses of runs grow side by side; switch what the clock counts.

    Parameters
    ----------
    runs : dict of str to Result, Trace, or list of them
        What to compare, by name. Of a list, the runs of several seeds, the median is drawn over
        thin curves of each.
    replicas : bool, default: False
        Show below the losses how far the numbers lie apart that the ranks noted as
        ``"checksum"``: whether the replicas are one model. A run that noted none has no such curve.
    target : float or None, default: None
        A loss to reach; the moment in which a run reaches it is marked, and stands in the legend.
    steps_per_epoch : float, dict of str to float, or None, default: None
        How many updates go through all examples once; with it, epochs are an axis, too.
    reference : str, default: ""
        The run with which the others are compared: it is grey.
    y_log : bool, default: False
        Whether the losses have a logarithmic axis.
    note : str, default: "loss_partial"
        The notes that add up to the loss, see ``loss_curve``.
    title : str, default: ""
        What stands above it.

    Returns
    -------
    Race
        A picture that moves; where no script runs, the whole curves.

    Raises
    ------
    TypeError
        If ``runs`` is no dict, or holds other than runs.
    ValueError
        If there is no run, one noted no loss, ``reference`` names none of them, or ``target`` is no
        finite number.

    Examples
    --------
    >>> from course_lib import run
    >>> def falling(comm, rate):
    ...     for step in range(3):
    ...         comm.note("loss_partial", rate**step / comm.size)
    >>> race({f"{r}": run(falling, r, workers=2, backend="simulated") for r in (0.5, 0.9)})
    Race(0.5 (3 updates), 0.9 (3 updates))
    """
    if not isinstance(runs, Mapping):
        raise TypeError(
            f"runs must be a dict of runs by their names, got {type(runs).__name__}; "
            '{"my run": result} is one'
        )
    if not runs:
        raise ValueError("runs must hold at least one run by name, got none")
    if reference and reference not in runs:
        raise ValueError(f"reference must name one of {list(runs)}, got {reference!r}")
    if target is not None and not is_drawn(target):
        raise ValueError(f"target must be a finite number or None, got {target!r}")
    per_epoch = dict(steps_per_epoch) if isinstance(steps_per_epoch, Mapping) else steps_per_epoch
    runners: list[dict[str, Any]] = []
    seeds: list[dict[str, Any]] = []
    for name, given in runs.items():
        several = list(given) if isinstance(given, Sequence) else [given]
        if not several:
            raise ValueError(f"runs must hold at least one run by each name, got none by {name!r}")
        traces = [getattr(one, "trace", one) for one in several]
        steps = per_epoch.get(name) if isinstance(per_epoch, dict) else per_epoch
        found = [_columns(trace, note, steps) for trace in traces]
        runner: dict[str, Any] = {
            "name": str(name),
            **(found[0] if len(found) == 1 else _median(found)),
        }
        if replicas:
            runner |= _apart(traces[0], len(runner["loss"]))
        if name == reference:
            runner["reference"] = True
        seeds += [{"of": len(runners), **one} for one in found] if len(found) > 1 else []
        runners.append(runner)
    return Race(race=_packed(runners, seeds, target, y_log), title=title)


def _columns(trace: "Trace", note: str, per_epoch: float | None) -> dict[str, list[float]]:
    """Return the losses of a run and where they stand: update, time, bytes sent until then."""
    points = loss_curve(trace, note)
    times = [time_s for time_s, _ in points]
    columns = {
        "updates": [float(k) for k in range(1, len(points) + 1)],
        "seconds": times,
        "bytes": _bytes_until(trace, times),
        "loss": [value if is_drawn(value) else math.inf for _, value in points],
    }
    if per_epoch:
        columns["epochs"] = [k / per_epoch for k in columns["updates"]]
    return columns


def _bytes_until(trace: "Trace", times: list[float]) -> list[float]:
    """Count the bytes that all ranks together have begun to send before each time."""
    sent = sorted((message.posted_s, message.n_bytes) for message in trace.messages)
    totals = [0, *itertools.accumulate(n_bytes for _, n_bytes in sent)]
    posted = [time_s for time_s, _ in sent]
    return [float(totals[bisect.bisect_left(posted, time_s)]) for time_s in times]


def _median(runs: list[dict[str, list[float]]]) -> dict[str, list[float]]:
    """Take the median of several runs, update by update, as far as all go."""
    return {
        name: [statistics.median(values) for values in zip(*(run[name] for run in runs))]  # noqa: B905
        for name in runs[0]
    }


def _apart(trace: "Trace", n_updates: int) -> dict[str, list[float]]:
    """Say after each update how far the ranks' checksums lie apart, rounding aside."""
    by_rank: dict[int, list[float]] = {}
    for one in trace.notes_named("checksum"):
        by_rank.setdefault(one.rank, []).append(float(one.value))
    if not by_rank:
        return {}
    # Who noted before its first step, too, has one more: the last of them follow the updates.
    after = [of_rank[-n_updates:] for of_rank in by_rank.values()]
    far = [max(now) - min(now) for now in zip(*after, strict=False)]
    least = [1e-9 * max(1.0, *map(abs, now)) for now in zip(*after, strict=False)]
    alike = [v <= small < math.inf for v, small in zip(far, least, strict=True)]
    return {"apart": [0.0 if same else v for v, same in zip(far, alike, strict=True)]}


def _packed(
    runners: list[dict[str, Any]], seeds: list[dict[str, Any]], target: float | None, y_log: bool
) -> dict[str, Any]:
    """Thin, round, and say how far each axis goes."""
    names = [name for name in _AXES if all(name in runner for runner in runners)]
    if all(not runner["bytes"][-1] for runner in runners):
        names.remove("bytes")
    ends = {name: max(runner[name][-1] for runner in runners) for name in names}
    axes = []
    for name in names:
        factor, unit = (1.0, "")
        if name == "seconds":
            factor, unit = time_unit(ends[name])
        elif name == "bytes":
            factor, unit = next(
                (f, u) for f, u in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "bytes"))
                if ends[name] >= f or f == 1.0
            )  # fmt: skip
        axes.append({"key": name, "label": _AXES[name], "unit": unit, "end": ends[name] / factor})
        for one in [*runners, *seeds]:
            one[name] = [value / factor for value in one[name]]
    for one in runners if target is not None else []:
        hit = next((k for k, loss in enumerate(one["loss"]) if loss <= target), None)
        if hit is not None:  # found here: of a long run a page has fewer points
            one["there"] = {a["key"]: _arrival(one[a["key"]][hit], a) for a in axes}
    losses = [v for one in [*runners, *seeds] for v in one["loss"] if math.isfinite(v)]
    if not losses:
        raise ValueError(
            "runs must have a loss that is a finite number, got none: all have diverged"
        )
    low, high = min(losses), max(losses)
    margin = 0.05 * (high - low) or 0.5
    y_range = [max(low, 1e-12), high] if y_log else [min(0.0, low), high + margin]
    return {
        "axes": axes, "y_log": y_log, "y_range": [_rounded(v) for v in y_range],
        "runners": [_thinned(one) for one in runners], "seeds": [_thinned(one) for one in seeds],
        **({"target": target} if target is not None else {}),
    }  # fmt: skip


def _arrival(at: float, axis: dict[str, Any]) -> tuple[float, str]:
    """Return where a run is at the target, and how that is written: updates are counted."""
    text = f"{at:,.0f}" if axis["key"] == "updates" else three_digits(at)
    return float(f"{at:.5g}"), f"there after {text} {axis['unit'] or axis['label']}"


def _thinned(one: dict[str, Any]) -> dict[str, Any]:
    """Keep at most 300 points, the last among them; a loss that is no finite number is None."""
    n = len(one["loss"])
    stride = max(1, -(-n // _MOST_POINTS))
    kept = [*range(0, n, stride)] + ([n - 1] if (n - 1) % stride else [])
    thin: dict[str, Any] = {
        name: [_rounded(values[k]) for k in kept]
        for name, values in one.items() if name in (*_AXES, "loss", "apart")
    }  # fmt: skip
    return {
        **{name: one[name] for name in ("name", "of", "reference", "there") if name in one},
        **thin,
    }


def _rounded(value: float) -> float | None:
    return float(f"{value:.5g}") if is_drawn(value) else None  # a page holds no other
