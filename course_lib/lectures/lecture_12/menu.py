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
    "digits_losses",
    "menu_table",
]

_RATE = 0.5
_UPDATES = 192
EXAMPLE_US = 20
"""What an example takes a worker, forward and backward, in the capstone's last cell."""
BUDGET_US = 60_000
N_DIGITS = 2416
"""The net's 2,410 parameters, and six more, so that four and eight workers divide them."""
NETWORKS_US = ((5, 5000), (2000, 12))
"""Two networks: the latency in microseconds, and bytes a microsecond."""

MENU: tuple[Way, ...] = (
    Way("serial", 1, 64, 1), Way("server", 4, 64, 1), Way("ring", 4, 64, 1),
    Way("ring", 4, 256, 1), Way("ring", 8, 256, 1), Way("local", 4, 64, 8),
    Way("local", 4, 64, 32),
)  # fmt: skip
"""What the last cell chooses from."""


@cache
def digits_losses(way: Way) -> tuple[float, ...]:
    """Train digits as a way does, and return the loss on all images, update by update.

    Parameters
    ----------
    way : Way
        In ``MENU``.

    Returns
    -------
    tuple of float
        After 0, 1, 2, … updates; between two averages that of the last one.
    """
    alone = way.workers if way.scheme == "local" else 1
    plan = Plan(_RATE, batch_size=way.batch, epochs=-(-_UPDATES * way.batch // len(y)))
    replicas = [model.initial(plan.seed) for _ in range(alone)]
    losses = [float(model.loss(replicas[0], (X, y)))]
    shares = [plan.shares(len(y), rank, alone) for rank in range(alone)]
    for update, of_all in enumerate(zip(*shares, strict=True), start=1):
        for w, (examples, _) in zip(replicas, of_all, strict=True):
            w -= _RATE * model.gradient(w, (X[examples], y[examples]))[1]
        if update % way.every == 0:
            mean = np.mean(replicas, axis=0)
            replicas = [mean.copy() for _ in replicas]
            losses.append(float(model.loss(mean, (X, y))))
        else:
            losses.append(losses[-1])
    return tuple(losses)


def menu_table(chosen: Sequence[int]) -> Table:
    """List what each way of the menu reaches within the budget, on the fast network and the slow.

    Parameters
    ----------
    chosen : sequence of int
        For each network, which way is marked.

    Returns
    -------
    Table
        A row for each way.
    """
    rows: dict[str, dict[str, str]] = {}
    for number, way in enumerate(MENU):
        workers = f"{way.workers} workers" if way.workers > 1 else "1 worker"
        row = rows[f"{number}: {way.scheme}, {workers}, batch {way.batch}, every {way.every}"] = {}
        for name, network, marked in zip(("fast", "slow"), NETWORKS_US, chosen, strict=True):
            loss = reached_by(way, digits_losses(way), N_DIGITS, EXAMPLE_US, network, BUDGET_US)
            row[name] = f"{loss:.2f}" + " ←" * (marked == number)
    return table(rows)
