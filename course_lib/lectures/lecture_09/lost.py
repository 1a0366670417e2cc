"""A replica is lost: what each scheme does then, in virtual time and on real processes."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.communicator import Communicator
from course_lib.comm.errors import RunError
from course_lib.comm.result import WORKER_VARIABLE
from course_lib.comm.simulated.faults import Crash, Faults
from course_lib.lectures.lecture_09.bowl import on_bowl, pace
from course_lib.models.linear_regression import LinearRegression
from course_lib.models.model import Batch
from course_lib.schemes import downpour
from course_lib.trace.trace import Trace
from course_lib.training import Plan

__all__ = ["Tally", "tally", "with_a_loss"]


def with_a_loss(scheme: Callable[..., Any], waits: bool, updates: int = 40) -> Trace:
    """Train with four replicas, of which rank 2 is lost after 2.5 s and back after 5.5 s.

    Parameters
    ----------
    scheme : callable
        One with a server on rank 0.
    waits : bool
        Whether it makes one update of all replicas' gradients.
    updates : int, default: 40
        How many gradients are to be computed.

    Returns
    -------
    Trace
        To the end of the training, or as far as it came.
    """
    crash = Faults([Crash(rank=2, at_s=2.5, restart_at_s=5.5)])
    network = pace(4, latency_s=0.05)
    try:
        made = on_bowl(scheme, 4, updates, network, waits=waits, survive=True, faults=crash)
    except RunError as error:
        if error.trace is None:
            raise
        return error.trace
    return made.trace


class Tally(LinearRegression):
    """A model that counts: parameter i is how often example i has been applied.

    With a rate of 1 and one example a batch it says of every push whether it was lost or made
    twice. One process that computes with it ends in the middle of its first gradient, without a
    word, as if it had been killed; that can only be done to a worker.

    Parameters
    ----------
    comm : Communicator
        The group of ranks.
    n_examples : int
        How many are counted.
    victim : int
        The rank whose first process ends so.
    """

    def __init__(self, comm: Communicator, n_examples: int, victim: int) -> None:
        super().__init__(n_examples - 1)
        is_victim = comm.rank == victim and comm.incarnation == 0
        object.__setattr__(self, "is_victim", is_victim and WORKER_VARIABLE in os.environ)

    def gradient(
        self, w: NDArray[np.float64], batch: Batch, weight: float = 1.0
    ) -> tuple[float, NDArray[np.float64]]:
        """Return a gradient that adds one to the count of each example."""
        if getattr(self, "is_victim"):  # noqa: B009 - the class is frozen
            os._exit(1)
        grad = np.zeros_like(w)
        np.add.at(grad, batch[0][:, 0].astype(int), -weight)
        return 1.0, grad


def tally(comm: Communicator, n_examples: int, victim: int = 2) -> NDArray[np.float64]:
    """Count by Downpour how often each example is applied, while a replica is lost and comes back.

    Parameters
    ----------
    comm : Communicator
        The group of ranks, in a run with ``survive=True``.
    n_examples : int
        How many updates there are to be, one for each.
    victim : int, default: 2
        The rank that is lost in its first gradient, where ranks are processes.

    Returns
    -------
    numpy.ndarray, shape (n_examples,)
        How often the gradient of each example was applied.
    """
    model, X = Tally(comm, n_examples, victim), np.arange(n_examples)[:, None]
    return np.asarray(downpour(comm, model, X, np.zeros(n_examples), Plan(1.0, 1, 1)).w)
