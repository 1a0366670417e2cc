"""A round of training: some updates, then an exchange; what it takes is found by running one.

A *round* is what lies between two exchanges: one update, or ``every`` updates if workers train
alone and average then. Within a budget only whole rounds count.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from course_lib.collectives import ALLREDUCES
from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.comm.simulated.network import Network

__all__ = ["Way", "reached_by", "round_us"]


class Way(NamedTuple):
    """A way to train.

    Attributes
    ----------
    scheme : {"serial", "server", "ring", "local"}
        Who adds up: nobody, rank 0 for all, or a ring; local averages by a ring.
    workers : int
        How many, with rank 0.
    batch : int
        Examples of all workers in an update.
    every : int
        Updates in a round; 1 unless it is local.
    """

    scheme: str
    workers: int
    batch: int
    every: int


@cache
def round_us(way: Way, n: int, example_us: int, latency_us: int, bytes_per_us: int) -> float:
    """Run one round in virtual time.

    Parameters
    ----------
    way : Way
        How to train; its batch and the n parameters can be divided by its workers.
    n : int
        Parameters of four bytes.
    example_us : int
        What an example takes a worker.
    latency_us, bytes_per_us : int
        Of the network.

    Returns
    -------
    float
        Microseconds.
    """
    network = Network("of the task", latency_us * 1e-6, bytes_per_us * 1e6, 1e6)
    add_up = ALLREDUCES["central" if way.scheme == "server" else "ring"]

    def one_round(comm: Communicator) -> None:
        for _ in range(way.every):
            with comm.compute("update", flops=way.batch // way.workers * example_us):
                grad = np.zeros(n, np.float32)
        if comm.size > 1:
            add_up(comm, grad)

    trace = run(one_round, workers=way.workers, backend="simulated", network=network).trace
    assert trace is not None
    return 1e6 * trace.end_s


def reached_by(
    way: Way, losses: Sequence[float], n: int, example_us: int, network: tuple[int, int],
    budget_us: int,
) -> float:  # fmt: skip
    """Return the loss that a way has reached when the budget is used up.

    Parameters
    ----------
    way : Way
        How to train.
    losses : sequence of float
        Its loss after 0, 1, 2, … updates; the last stands for all later ones.
    n, example_us : int
        As above.
    network : (int, int)
        Latency in microseconds, bytes a microsecond.
    budget_us : int
        Virtual time.

    Returns
    -------
    float
        After all rounds that are over by then.
    """
    rounds = int(budget_us / round_us(way, n, example_us, *network) + 1e-9)
    return losses[min(rounds * way.every, len(losses) - 1)]
