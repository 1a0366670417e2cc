"""How large a rate may be where gradients are old: the same arithmetic with and without times."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from course_lib.costs.asynchrony import delayed_edge, implicit_momentum, mean_square_edge
from course_lib.lectures.lecture_09.bowl import RETURNED, ages, on_bowl, pace
from course_lib.viz import Chart, chart

__all__ = ["descend", "edge_of", "edges_chart", "mean_path", "momentum_chart"]

_WORKERS = (1, 2, 3, 4, 6, 8, 12, 16)


def descend(old: Sequence[int], rate: float, momentum: float = 0.0) -> list[float]:
    """Go down a bowl of curvature 1 from 1, with gradients that are so many updates old.

    Parameters
    ----------
    old : sequence of int
        The staleness of each update.
    rate : float
        The rate; in another bowl, the rate times its curvature.
    momentum : float, default: 0.0
        Which part of the last step is taken again; may be below 0.

    Returns
    -------
    list of float
        The one parameter, at first and after each update.

    Examples
    --------
    >>> descend([0, 1, 1], 0.5)  # after the first, each gradient is that of one update before
    [1.0, 0.5, 0.0, -0.25]
    """
    w, step = [1.0], 0.0
    for age in old:
        step = momentum * step - rate * w[-1 - age]
        w.append(w[-1] + step)
    return w


def edge_of(old: Sequence[int], momentum: float = 0.0) -> float:
    """Find the rate from which on the parameter does not come nearer to the bottom.

    Parameters
    ----------
    old : sequence of int
        The staleness of each update; some hundreds.
    momentum : float, default: 0.0
        Of every step.

    Returns
    -------
    float
        Between rates that end nearer than they began, and rates that end farther, by bisection.
    """
    stays, leaves = 0.0, 4.5
    last = max(2, len(old) // 5)
    while leaves - stays > 1e-4:
        middle = (stays + leaves) / 2
        far = np.abs(descend(old, middle, momentum)[-last:]).max()
        stays, leaves = (middle, leaves) if far < 1 else (stays, middle)
    return stays


def edges_chart() -> Chart:
    """Draw how large the rate may be, over the number of replicas.

    Returns
    -------
    Chart
        Curves by formula, for a push that returns the next parameters; points of runs.
    """
    curves = {
        "random times, mean of squares": [(float(P), mean_square_edge(P)) for P in _WORKERS],
        "synchronous, sum of P gradients": [(float(P), 2 / P) for P in _WORKERS],
        "all equally long": [(float(P), delayed_edge(P)) for P in _WORKERS],
    }
    points = {f"run, P = {P}": (float(P), edge_of(_history(P))) for P in (2, 4, 8)}
    return chart(
        curves, points=points, x_log=True, y_log=True, x_ticks=_WORKERS,
        x_label="replicas P", y_label="largest rate × curvature", y_range=(0.08, 2.5),
    )  # fmt: skip


@lru_cache
def _history(replicas: int) -> tuple[int, ...]:
    """Return the staleness of each update of a run in which all take equally long."""
    return tuple(ages(on_bowl(RETURNED, replicas, 400, pace(replicas)).trace))


def mean_path(
    replicas: int, times: str, rate: float, updates: int, runs: int = 4000, seed: int = 0
) -> NDArray[np.float64]:
    """Average many runs on a bowl of curvature 1, from 1; pushes return the next parameters.

    Where times are exponential, each replica is the next to push with the same chance, whatever has
    been; where they are equal, they take turns.

    Parameters
    ----------
    replicas : int
        How many compute.
    times : {"equal", "random"}
        Who is next.
    rate : float
        The rate times the curvature.
    updates : int
        How many there are.
    runs : int, default: 4000
        How many to average.
    seed : int, default: 0
        Of the random turns.

    Returns
    -------
    numpy.ndarray, shape (updates + 1,)
        The mean of the parameter, at first and after each update.
    """
    rng, each = np.random.default_rng(seed), np.arange(runs)
    w, read = np.ones(runs), np.ones((runs, replicas))
    means = [1.0]
    for update in range(updates):
        turn = rng.integers(replicas, size=runs) if times == "random" else update % replicas
        w = w - rate * read[each, turn]
        read[each, turn] = w
        means.append(float(w.mean()))
    return np.array(means)


def momentum_chart(workers: int, times: str, rate: float = 0.4) -> Chart:
    """Draw the mean of asynchronous runs beside one machine with momentum.

    Parameters
    ----------
    workers : int
        How many replicas.
    times : {"equal", "random"}
        How long gradients take.
    rate : float, default: 0.4
        Of the asynchronous runs, times the curvature.

    Returns
    -------
    Chart
        Two curves, and how far they are apart at most.
    """
    updates, momentum = 40, implicit_momentum(workers)
    found = mean_path(workers, times, rate, updates)
    w, step = [1.0], -rate  # all have read the first parameters: the first step is a whole one
    for _ in range(updates):
        w.append(w[-1] + step)
        step = momentum * step - rate / workers * w[-1]
    apart = np.abs(found - w).max()
    curves: dict[str, list[float]] = {
        f"mean of 4,000 runs, rate {rate:g}": found.tolist(),
        f"one machine, rate {rate / workers:g}, momentum {momentum:g}": w,
    }
    return chart(
        {name: [(float(k), v) for k, v in enumerate(path)] for name, path in curves.items()},
        x_label="updates", y_label="distance from the bottom", y_range=(-1.5, 1.5),
        said=f"The curves are {apart:.2f} apart at most.",
    )  # fmt: skip
