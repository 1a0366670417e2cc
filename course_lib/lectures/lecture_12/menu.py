"""The capstone's menu: ways to train the lecture's net, and how far each has come."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from course_lib.lectures.lecture_12.problem import X, model, y
from course_lib.planning.rounds import Way, reached_by
from course_lib.training import Plan
from course_lib.viz import Table, table

__all__ = [
    "BUDGET_US",
    "EXAMPLE_US",
    "MENU",
    "NETWORKS_US",
    "N_DIGITS",
    "RATES",
    "SEEDS",
    "digits_losses",
    "menu_table",
]

RATES = (0.5, 1.0)
"""Each way is on the menu with both; of 0.25, 0.5, 1, 2 and 3 no other makes one the best."""
SEEDS = range(3)
_UPDATES = 192
EXAMPLE_US = 20
"""What an example takes a worker, forward and backward, in the capstone's last cell."""
BUDGET_US = 60_000
N_DIGITS = 2416
"""The net's 2,410 parameters, and six more, so that four and eight workers divide them."""
NETWORKS_US = ((5, 5000), (2000, 12))
"""Two networks: the latency in microseconds, and bytes a microsecond."""

_WAYS = (
    Way("serial", 1, 64, 1), Way("server", 4, 64, 1), Way("ring", 4, 64, 1),
    Way("ring", 4, 256, 1), Way("ring", 8, 256, 1), Way("local", 4, 64, 8),
    Way("local", 4, 64, 32),
)  # fmt: skip
MENU: tuple[tuple[Way, float], ...] = tuple((way, rate) for way in _WAYS for rate in RATES)
"""What the last cell chooses from: ways to train, each with a learning rate."""


def digits_losses(way: Way, rate: float) -> tuple[float, ...]:
    """Train digits as a way does, from three seeds; return the median loss on all images.

    Parameters
    ----------
    way : Way
        In ``MENU``.
    rate : float
        The learning rate.

    Returns
    -------
    tuple of float
        After 0, 1, 2, … updates; between two averages that of the last one.
    """
    return tuple(map(float, np.median([_of_seed(way, rate, seed) for seed in SEEDS], axis=0)))


def _of_seed(way: Way, rate: float, seed: int) -> tuple[float, ...]:
    # Who adds up makes no difference to the sum: server and ring learn as one worker does.
    return _trained(way.workers if way.every > 1 else 1, way.batch, way.every, rate, seed)


@cache
def _trained(alone: int, batch: int, every: int, rate: float, seed: int) -> tuple[float, ...]:
    plan = Plan(rate, batch_size=batch, epochs=-(-_UPDATES * batch // len(y)), seed=seed)
    replicas = [model.initial(plan.seed) for _ in range(alone)]
    losses = [float(model.loss(replicas[0], (X, y)))]
    shares = [plan.shares(len(y), rank, alone) for rank in range(alone)]
    for update, of_all in enumerate(zip(*shares, strict=True), start=1):
        for w, (examples, _) in zip(replicas, of_all, strict=True):
            w -= rate * model.gradient(w, (X[examples], y[examples]))[1]
        if update % every == 0:
            mean = np.mean(replicas, axis=0)
            replicas = [mean.copy() for _ in replicas]
            losses.append(float(model.loss(mean, (X, y))))
        else:
            losses.append(losses[-1])
    return tuple(losses)


def menu_table(chosen: Sequence[int]) -> Table:
    """List what each choice of the menu reaches within the budget, on either network.

    Parameters
    ----------
    chosen : sequence of int
        For each network, which choice is marked.

    Returns
    -------
    Table
        A row for each choice: the median loss of three seeds, the least and the greatest.
    """
    rows: dict[str, dict[str, str]] = {}
    for number, (way, rate) in enumerate(MENU):
        workers = f"{way.workers} workers" if way.workers > 1 else "1 worker"
        name = f"{number}: {way.scheme}, {workers}, batch {way.batch}, every {way.every}"
        row = rows[f"{name}, rate {rate:g}"] = {}
        of_seeds = [_of_seed(way, rate, seed) for seed in SEEDS]
        for column, network, marked in zip(("fast", "slow"), NETWORKS_US, chosen, strict=True):
            low, median, high = sorted(
                reached_by(way, losses, N_DIGITS, EXAMPLE_US, network, BUDGET_US)
                for losses in of_seeds
            )
            arrow = " ←" * (marked == number)
            row[column] = f"{median:.2f} ({low:.2f} to {high:.2f}){arrow}"
    return table(rows)
