"""A server that waits for all gradients, one that answers whoever comes, and what waiting costs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run

__all__ = ["answers_each", "spread_ms", "step_of_slowest_ms", "waits_for_all"]

_LENGTH = 20_000  # parameters: 160 KB, so that a message can be seen on a timeline
_FLOPS_PER_MS = 1e7  # of the simulator's networks


def waits_for_all(comm: Communicator, steps: int) -> NDArray[np.float64]:
    """Train with a server that takes a step when all gradients are there.

    Parameters
    ----------
    comm : Communicator
        Rank 0 serves, the others work.
    steps : int
        How many gradients each of them computes.

    Returns
    -------
    numpy.ndarray
        On rank 0 the parameters.
    """
    w = np.zeros(_LENGTH)
    for _ in range(steps):
        if comm.rank == 0:
            for dst in range(1, comm.size):
                comm.send(w, dst, tag="parameters")
            w = w + sum(comm.recv(src, tag="gradient") for src in range(1, comm.size))
        else:
            w = comm.recv(0, tag="parameters")
            comm.send(_gradient(comm, w), 0, tag="gradient")
    return w


def answers_each(comm: Communicator, steps: int) -> NDArray[np.float64]:
    """Train with a server that takes a step with each gradient, and answers who has sent it.

    Parameters
    ----------
    comm : Communicator
        Rank 0 serves, the others work.
    steps : int
        How many gradients each of them computes.

    Returns
    -------
    numpy.ndarray
        On rank 0 the parameters.
    """
    w = np.zeros(_LENGTH)
    for _ in range(steps if comm.rank else steps * (comm.size - 1)):
        if comm.rank == 0:
            src, grad = comm.recv_any()
            w = w + grad
            comm.send(w, src, tag="parameters")
        else:
            comm.send(_gradient(comm, w), 0, tag="gradient")
            w = comm.recv(0, tag="parameters")
    return w


def _gradient(comm: Communicator, w: NDArray[np.float64]) -> NDArray[np.float64]:
    """One millisecond of work; the result depends on w."""
    with comm.compute("gradient", flops=_FLOPS_PER_MS):
        return 1 - w / 2


def spread_ms(made: Any) -> float:
    """Measure how far apart the workers' first pushes are.

    Parameters
    ----------
    made : Result
        A simulated run of one of the two programs, with its trace.

    Returns
    -------
    float
        Virtual milliseconds between the first and the last worker's first push.
    """
    trace = made.trace
    first = [trace.between(worker, 0)[0].posted_s for worker in range(1, trace.size)]
    return 1e3 * float(max(first) - min(first))


def step_of_slowest_ms(workers: int, steps: int, seed: int) -> float:
    """Measure a step in which all wait for the slowest, in virtual time.

    Parameters
    ----------
    workers : int
        How many; each takes an exponential time for a step, 1 ms on average.
    steps : int
        How many steps are run.
    seed : int
        Of the random times.

    Returns
    -------
    float
        Milliseconds a step, on average.
    """

    def with_barrier(comm: Communicator) -> None:
        for milliseconds in comm.rng.exponential(size=steps):
            with comm.compute("gradient", flops=_FLOPS_PER_MS * float(milliseconds)):
                pass
            comm.barrier()

    made = run(with_barrier, workers=workers, backend="simulated", trace=False, seed=seed)
    return made.elapsed_s * 1e3 / steps
