"""One rate for all, each its own best; throughput against what a gradient is worth."""

import math
from collections.abc import Mapping

from course_lib.lectures.lecture_11.clocks import GBIT, LATENCY_S, pace_of, priced, takes_part
from course_lib.lectures.lecture_11.front import or_not, together
from course_lib.lectures.lecture_11.kept import NAMES, best, grid, rules
from course_lib.viz import Chart, Table, chart, table

__all__ = ["best_rates", "rates_chart", "trade_chart"]

_TUNED = ("data_parallel", "backup_workers", "downpour", "local_sgd")
_TRADED = ("serial", "data_parallel", "parameter_server", "backup_workers", "bounded_staleness",
           "downpour", "local_sgd", "compressed")  # fmt: skip
_X, _Y = (1e4, 2e6), (3.0, 12.0)
_MS = (25, 50, 100, 200, 400)


def rates_chart(momentum: float) -> Chart:
    """Draw the seconds to the target over the learning rate, for four schemes that share both.

    Parameters
    ----------
    momentum : {0.0, 0.5, 0.9}
        The same for all.

    Returns
    -------
    Chart
        A curve for each, over the rates with which it gets there in twelve epochs; a cross for who
        gets there with one rate only.
    """
    curves: dict[str, list[tuple[float, float]]] = {}
    for scheme in _TUNED:
        each_s = pace_of(best(scheme).case, LATENCY_S, GBIT).seconds
        there = {
            rate: 1e3 * each_s * point["updates"]
            for (rate, of), point in sorted(grid(scheme).items())
            if of == momentum and "updates" in point
        }
        curves[NAMES[scheme]] = list(there.items()) or [(math.nan, math.nan)]
    return chart(
        curves, points=together({name: at[0] for name, at in curves.items() if len(at) == 1}),
        x_log=True, y_log=True, x_range=(0.01, 1.0), y_range=(30, 300),
        x_ticks=(0.0125, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8),
        x_label="learning rate, the same for all", y_label="ms to the target",
        said=_who_wins(curves),
    )  # fmt: skip


def best_rates(workers: int = 4) -> Table:
    """Lay out each scheme's best rate and momentum, without a straggler and with one.

    Parameters
    ----------
    workers : {4, 8}, default: 4
        How many.

    Returns
    -------
    Table
        A row each.
    """
    rows = {}
    for scheme in _TRADED:
        row = {}
        for straggler, text in ((1, "even"), (10, "one 10 × slower")):
            found = best(scheme, workers, straggler)
            row[f"rate, momentum: {text}"] = f"{found.rate:g}, {found.momentum:g}"
            row[f"seeds there: {text}"] = f"{found.n_there} of {len(found.seeds)}"
        rows[NAMES[scheme]] = row
    return table(rows)


def trade_chart(workers: int, straggler: float) -> Chart:
    """Draw the epochs to the target over the images that are computed in a second.

    Parameters
    ----------
    workers : {4, 8}
        How many.
    straggler : {1.0, 3.0, 10.0}
        How many times longer the last one computes.

    Returns
    -------
    Chart
        A cross for each scheme; lines of equal time; below, a table.
    """
    found = {
        name: priced(takes_part(name, workers, straggler, 8, 24), LATENCY_S, GBIT)
        for name in _TRADED
    }
    n_images = rules().n_images
    places = {
        NAMES[name]: (one.images_per_s, one.best.median("epochs")) for name, one in found.items()
    }
    rows = {
        NAMES[name]: {
            "images a second": f"{one.images_per_s:,.0f}",
            "updates old": f"{one.pace.age:.1f}",
            "epochs": or_not(one.best.median("epochs")), "ms": or_not(1e3 * one.seconds),
        }
        for name, one in found.items()
    }  # fmt: skip
    lines = {f"{ms} ms": [(x, ms / 1e3 * x / n_images) for x in _X] for ms in _MS}
    return chart(
        {name: _within(line) for name, line in lines.items()},
        points=together(places),
        x_log=True, y_log=True, x_range=_X, y_range=_Y, below=table(rows),
        x_label="images a second: throughput", y_label="epochs to the target",
    )  # fmt: skip


def _within(line: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Cut a line of slope 1 off at the edges of the picture."""
    per_x = line[0][1] / line[0][0]
    low, high = max(_X[0], _Y[0] / per_x), min(_X[1], _Y[1] / per_x)
    return [(low, low * per_x), (high, high * per_x)]


def _who_wins(curves: Mapping[str, list[tuple[float, float]]]) -> str:
    """Say at each rate who is first."""
    by_rate: dict[float, dict[str, float]] = {}
    for name, points in curves.items():
        for rate, ms in points:
            if math.isfinite(rate):
                by_rate.setdefault(rate, {})[name] = ms
    first = [f"{rate:g}: {min(of, key=of.__getitem__)}" for rate, of in sorted(by_rate.items())]
    return f"First at rate {', '.join(first)}."
