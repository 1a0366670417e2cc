"""Where the time of a ring all-reduce goes, rank by rank: ``python -m benchmarks.profile``.

For example ``python -m benchmarks.profile 1024 2`` for 1 KB between 2 processes. The profiler slows
Python's own functions down and compiled ones not, so read the order, not the seconds.
"""

import cProfile
import io
import pstats
import sys
import time

import numpy as np

from benchmarks.exchange import contribution
from benchmarks.plan import MB
from course_lib import run
from course_lib.collectives import allreduce_ring
from course_lib.comm.communicator import Communicator

_BYTES_IN_ALL = 1024 * MB
_MOST_RINGS = 2000
_LINES = 16


def profiled(comm: Communicator, n_bytes: int) -> str:
    """Do all-reduces under the profiler; return its table, with what a plain one takes above it."""
    x = contribution(comm.rank, n_bytes)
    place = np.zeros_like(x)
    n_rings = min(_MOST_RINGS, _BYTES_IN_ALL // n_bytes)
    profiler = cProfile.Profile()
    seconds = []
    for is_profiled in (False, True):
        comm.barrier()
        start_s = time.perf_counter()
        if is_profiled:
            profiler.enable()
        for _ in range(n_rings):
            allreduce_ring(comm, x, out=place)
        profiler.disable()
        seconds.append((time.perf_counter() - start_s) / n_rings * 1e6)
    table = io.StringIO()
    pstats.Stats(profiler, stream=table).strip_dirs().sort_stats("tottime").print_stats(_LINES)
    plain, slowed = seconds
    return f"rank {comm.rank}: {plain:,.0f} µs each, {slowed:,.0f} profiled\n{table.getvalue()}"


def main(n_bytes: int = 1024, processes: int = 2) -> None:
    for told in run(profiled, n_bytes, workers=processes).values:
        print(told)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
