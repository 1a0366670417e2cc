"""Requests that come when they come: how long they wait for replicas of so many stages."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from course_lib.lectures.lecture_14.serving import CHAIN, EXAMPLES, network_of
from course_lib.planning.inference import Service, predict_stages
from course_lib.viz import Chart, chart, table

__all__ = ["RATES", "arrivals", "latencies", "rate_chart", "service_of"]

RATES = [50, 100, 150, 200, 225, 240, 300, 400, 450, 480, 600, 800, 900, 960, 1200, 1600]
"""Requests a second, the explorer's."""

_REQUESTS = 2000


def service_of(stages: int, network: str) -> Service:
    """Predict what one replica of so many stages reaches.

    Parameters
    ----------
    stages : {1, 2, 4, 8}
        How many ranks its eight layers are cut over.
    network : str
        In ``NETWORKS``.

    Returns
    -------
    Service
        Latency of a request that nobody is in the way of, and the most a second.
    """
    return predict_stages(CHAIN, EXAMPLES, network_of(network), [8 // stages] * stages)


def arrivals(per_second: float, n: int = _REQUESTS, seed: int = 0) -> NDArray[np.float64]:
    """Draw when requests come: independent of each other, so that gaps are exponential.

    Parameters
    ----------
    per_second : float
        In the mean.
    n : int, default: 2000
        How many.
    seed : int, default: 0
        Another one draws others.

    Returns
    -------
    numpy.ndarray, shape (n,)
        Seconds, ascending.
    """
    gaps: NDArray[np.float64] = np.random.default_rng(seed).exponential(1 / per_second, n)
    return np.cumsum(gaps)


def latencies(came_s: Sequence[float], replicas: int, one: Service) -> NDArray[np.float64]:
    """Send every request to the replica that is free first, in the order in which they come.

    A replica takes a request every ``1 / one.per_second`` seconds at most, and answers it
    ``one.latency_s`` after it has taken it: its stages are alike, so nobody waits on the way.

    Parameters
    ----------
    came_s : sequence of float
        When they come, ascending.
    replicas : int
        How many.
    one : Service
        Of a replica.

    Returns
    -------
    numpy.ndarray
        Seconds from when each comes until it is answered.
    """
    free_s, found = [0.0] * replicas, []
    for came in came_s:
        first = min(range(replicas), key=free_s.__getitem__)
        begun = max(came, free_s[first])
        free_s[first] = begun + 1 / one.per_second
        found.append(begun + one.latency_s - came)
    return np.array(found)


def rate_chart(replicas: int, stages: int, rate: int, network: str) -> Chart:
    """Draw latency over how many requests come in a second, of a grid and of one worker.

    Parameters
    ----------
    replicas : int
        How many.
    stages : {1, 2, 4, 8}
        Of each.
    rate : int
        How many come in a second: in ``RATES``.
    network : str
        In ``NETWORKS``.

    Returns
    -------
    Chart
        Mean latency, and the latency that 19 of 20 keep to; a cross at the rate, a table below.
    """
    one = service_of(stages, network)
    most = replicas * one.per_second
    mean, late = _curves(replicas, stages, network)
    alone, _ = _curves(1, 1, network)
    row: dict[str, object] = {"workers": replicas * stages, "most a second": round(most)}
    if keeps_up := rate < most:
        row |= {
            "busy, %": round(100 * rate / most),
            "mean, ms": round(dict(mean)[rate], 2),
            "19 of 20, ms": round(dict(late)[rate], 2),
        }
    else:
        row |= {"busy, %": 100, "mean, ms": "grows", "19 of 20, ms": "grows"}
    at = {"here": (float(rate), dict(mean)[rate])} if keeps_up else {}
    name = f"{replicas} × {stages}"
    said = "More come than are answered: the queue grows."
    if keeps_up:
        said = "As many are answered as come."
    return chart(
        {f"{name}, mean": mean, f"{name}, 19 of 20 within": late, "one worker, mean": alone},
        points=at, x_label="requests a second", y_label="ms until answered", y_log=True,
        x_range=(0, 1700), y_range=(2, 1000), reference="one worker, mean",
        below=table({f"{name} at {rate:,} a second": row}), said=said,
    )  # fmt: skip


@lru_cache
def _curves(
    replicas: int, stages: int, network: str
) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Return mean and 95th percentile, in milliseconds, for the rates that can be kept up with."""
    one, mean, late = service_of(stages, network), [], []
    for rate in RATES:
        if rate < replicas * one.per_second:
            ms = 1e3 * latencies(arrivals(rate).tolist(), replicas, one)
            mean.append((float(rate), float(ms.mean())))
            late.append((float(rate), float(np.quantile(ms, 0.95))))
    return mean, late
