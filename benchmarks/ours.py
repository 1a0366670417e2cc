"""Our engine: the ring of ``course_lib/collectives/allreduce_ring.py`` on real processes."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmarks.exchange import Measured, Task, Vector, measure, slowest
from course_lib import run
from course_lib.collectives import allreduce_ring
from course_lib.comm.communicator import Communicator

__all__ = ["Ours", "OursNew", "floor_seconds", "measure_ours", "measure_ours_new"]

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


def measure_ours(task: Task, processes: int) -> Measured:
    """Start the processes, let them measure, end them."""
    return slowest(run(_work, Ours, task, workers=processes, time_limit_s=600).values)


def measure_ours_new(task: Task, processes: int) -> Measured:
    """Do the same where every sum is a new array."""
    sums = replace(task, n_pings=0)
    return slowest(run(_work, OursNew, sums, workers=processes, time_limit_s=600).values)


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
    seconds = []
    for batch in range(4):
        comm.barrier()
        start_s = comm.clock()
        np.copyto(target, source)
        if batch > 0:
            seconds.append(comm.clock() - start_s)
    return {"copy": seconds}
