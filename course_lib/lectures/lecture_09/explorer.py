"""Workers, times, rate, momentum, bound: what becomes of the loss, and how old gradients are."""

from functools import lru_cache, partial

from course_lib.lectures.lecture_09.bowl import RETURNED, ages, on_bowl, pace
from course_lib.lectures.lecture_09.edges import descend, edge_of
from course_lib.schemes import bounded_staleness, downpour
from course_lib.viz import Chart, chart

__all__ = ["UPDATES", "explorer_chart", "histogram", "history", "staleness_chart"]

UPDATES = 240
"""How many updates the explorer makes; it shows the first half of them."""

_BINS = ((0, 0), (1, 1), (2, 2), (3, 3), (4, 7), (8, 15), (16, 10**9))


def explorer_chart(workers: int, times: str, rate: float, momentum: float, bound: str) -> Chart:
    """Draw the loss over the updates of one setting, and below it how old gradients were.

    Parameters
    ----------
    workers : int
        How many replicas.
    times : {"equal", "random", "straggler"}
        How long gradients take.
    rate : float
        The rate times the curvature.
    momentum : float
        Of the server's step.
    bound : {"none", "0", "1", "4"}
        By how many batches a replica may be ahead; "none": a push returns the next parameters.

    Returns
    -------
    Chart
        The loss with this rate, with fresh gradients, and with the rate at the edge.
    """
    old, per_second = history(workers, times, bound)
    edge, fresh_edge = edge_of(old, momentum), edge_of([0] * len(old), momentum)
    curves = {
        "these gradients": descend(old, rate, momentum),
        "fresh gradients": descend([0] * len(old), rate, momentum),
        f"at the edge: rate {edge:.2f}": descend(old, edge, momentum),
    }
    return chart(
        {name: _losses(path) for name, path in curves.items()},
        x_label="updates", y_label="loss", y_log=True, y_range=(1e-8, 1e4),
        x_range=(0, UPDATES // 2),
        reference=f"at the edge: rate {edge:.2f}", below=histogram(old),
        said=f"Edge of stability: rate {edge:.2f} ({fresh_edge:.2f} with fresh gradients). "
        f"A gradient is {sum(old) / len(old):.2f} updates old on average, {max(old)} at most. "
        f"{per_second:.2f} updates a second.",
    )  # fmt: skip


@lru_cache(maxsize=256)
def history(workers: int, times: str, bound: str = "none") -> tuple[tuple[int, ...], float]:
    """Run a scheme once: the rate changes nobody's time, so one run is enough for all rates.

    Parameters
    ----------
    workers : int
        How many replicas.
    times : {"equal", "random", "straggler"}
        How long gradients take.
    bound : {"none", "0", "1", "4"}, default: "none"
        As in ``explorer_chart``.

    Returns
    -------
    staleness : tuple of int
        Of each update. Replicas that take equally long push in turn: were all to push at one
        moment, with a bound they would fetch after all pushes, and without one between them.
    per_second : float
        How many updates there were in a virtual second.
    """
    scheme = RETURNED if bound == "none" else partial(bounded_staleness, bound=int(bound))
    network = pace(workers, times, in_turn=True)
    trace = on_bowl(scheme, workers, UPDATES, network).trace
    return tuple(ages(trace)), UPDATES / trace.end_s


def histogram(old: tuple[int, ...]) -> Chart:
    """Draw how many gradients were how old, in percent.

    Parameters
    ----------
    old : tuple of int
        The staleness of each update.

    Returns
    -------
    Chart
        A bar for each age, or each range of ages.
    """
    shares = {}
    for low, high in _BINS:
        name = f"{low}" if low == high else f"{low} or more" if high > 99 else f"{low} to {high}"
        shares[name] = round(100 * sum(low <= age <= high for age in old) / len(old), 1)
    return chart(shares, unit="%", x_range=(0, 100), x_label="% of gradients, by updates of age")


def staleness_chart(times: str, answers: str) -> Chart:
    """Draw how old the gradients of four replicas are.

    Parameters
    ----------
    times : {"equal", "random", "straggler"}
        How long gradients take.
    answers : {"a push returns", "a fetch of its own"}
        How replicas get the next parameters; a message takes a tenth of a gradient.

    Returns
    -------
    Chart
        A bar for each age, and the mean.
    """
    scheme = RETURNED if answers == "a push returns" else downpour
    old = ages(on_bowl(scheme, 4, UPDATES, pace(4, times, latency_s=0.1)).trace)
    drawn = histogram(tuple(old)).chart
    return chart(
        {name: value for name, value, *_ in drawn["bars"]}, unit="%", x_range=(0, 100),
        x_label=drawn["x_label"], said=f"Mean: {sum(old) / len(old):.2f} updates.",
    )  # fmt: skip


def _losses(path: list[float]) -> list[tuple[float, float]]:
    """Return half of the square, within what is drawn, of the first half."""
    shown = path[: UPDATES // 2 + 1]
    return [(float(k), min(max(0.5 * w * w, 1e-8), 1e4)) for k, w in enumerate(shown)]
