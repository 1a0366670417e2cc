"""Where the time of a ring all-reduce goes, rank by rank: ``python -m benchmarks.profile``.

For example ``python -m benchmarks.profile 1024 2`` for 1 KB between 2 processes. The profiler slows
Python's own functions down and compiled ones not, so read the order, not the seconds.
"""

import cProfile
import io
import pstats
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from benchmarks.exchange import contribution
from benchmarks.plan import MB
from course_lib import run
from course_lib.collectives import allreduce_ring
from course_lib.comm.communicator import Communicator
from course_lib.measure.timing import time_rounds

_BYTES_IN_ALL = 1024 * MB
_MOST_RINGS = 2000
_LINES = 16


def profiled(comm: Communicator, n_bytes: int) -> str:
    """Do all-reduces under the profiler; return its table, with what a plain one takes above it."""
    x = contribution(comm.rank, n_bytes)
    place = np.zeros_like(x)
    n_rings = min(_MOST_RINGS, _BYTES_IN_ALL // n_bytes)
    profiler = cProfile.Profile()
    profile: Iterator[AbstractContextManager[object]] = iter((nullcontext(), profiler))

    def begin() -> Callable[[], None]:
        comm.barrier()
        return rings

    def rings() -> None:
        with next(profile):
            for _ in range(n_rings):
                allreduce_ring(comm, x, out=place)

    plain_s, profiled_s = time_rounds(begin, rounds=2, calls=n_rings, warm_up=0)
    table = io.StringIO()
    pstats.Stats(profiler, stream=table).strip_dirs().sort_stats("tottime").print_stats(_LINES)
    head = f"rank {comm.rank}: {plain_s * 1e6:,.0f} µs each, {profiled_s * 1e6:,.0f} profiled"
    return f"{head}\n{table.getvalue()}"


def main(n_bytes: int = 1024, processes: int = 2) -> None:
    for told in run(profiled, n_bytes, workers=processes).values:
        print(told)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
