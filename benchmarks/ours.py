"""Our engine on real processes: the ring, in place and not, and the all-reduce that chooses."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.exchange import Measured, Task, Vector, measure, slowest
from course_lib import run
from course_lib.collectives import allreduce, allreduce_ring
from course_lib.comm.communicator import Communicator
from course_lib.measure.timing import time_rounds

__all__ = ["Ours", "OursChosen", "OursNew", "floor_seconds", "measure_ours", "measure_ours_as"]

_COPIED_BYTES = 128 * 2**20


class Ours:
    """A rank of ours; tracing is on, as it is unless one asks.

    It sums in place, as the peers do and as training does with gradients.
    """

    name = "ours"

    def __init__(self, comm: Communicator) -> None:
        self.rank, self.size = comm.rank, comm.size
        self.barrier = comm.barrier
        self._comm = comm

    def prepare(self, x: Vector, n_calls: int) -> Callable[[], list[Vector]]:
        places = [x.copy() for _ in range(n_calls)]
        return lambda: [allreduce_ring(self._comm, place, out=place) for place in places]

    def send(self, array: Vector, dst: int) -> None:
        self._comm.send(array, dst=dst)

    def receive(self, out: Vector, src: int) -> None:
        self._comm.recv(src=src, out=out)


class OursNew(Ours):
    """The same where every sum is a new array, which is the short way to write it."""

    name = "ours, new array"

    def prepare(self, x: Vector, n_calls: int) -> Callable[[], list[Vector]]:
        return lambda: [allreduce_ring(self._comm, x) for _ in range(n_calls)]


class OursChosen(Ours):
    """In place, by the algorithm that ``allreduce`` chooses for this size."""

    name = "ours, chosen"

    def prepare(self, x: Vector, n_calls: int) -> Callable[[], list[Vector]]:
        places = [x.copy() for _ in range(n_calls)]
        return lambda: [allreduce(self._comm, place, out=place) for place in places]


def measure_ours(task: Task, processes: int) -> Measured:
    """Start the processes, let them measure, end them."""
    return slowest(run(_work, Ours, task, workers=processes, time_limit_s=600).values)


def measure_ours_as(engine: type[Ours]) -> Callable[[Task, int], Measured]:
    """Return what does the same with another of our engines; messages are those of ``Ours``."""
    return partial(_measure_as, engine)


def _measure_as(engine: type[Ours], task: Task, processes: int) -> Measured:
    sums = replace(task, n_pings=0)
    return slowest(run(_work, engine, sums, workers=processes, time_limit_s=600).values)


def floor_seconds() -> list[float]:
    """Return what two processes need to copy 128 MB each at the same time.

    No all-reduce of 64 MB between two processes of NumPy can be much faster: each of them reads and
    writes about as much.
    """
    ranks: list[Measured] = run(_copy, workers=2, time_limit_s=600).values
    return slowest(ranks)["copy"]


def _work(comm: Communicator, engine: type[Ours], task: Task) -> Measured:
    return measure(engine(comm), task)


def _copy(comm: Communicator) -> Measured:
    source = np.ones(_COPIED_BYTES // 8)
    target = np.zeros_like(source)

    def begin() -> Callable[[], None]:
        comm.barrier()
        return lambda: np.copyto(target, source)

    return {"copy": time_rounds(begin, rounds=3, clock=comm.clock)}
