"""How long real workers take to start and end, and what tracing costs.

``python -m benchmarks.launch`` prints both.

The two sides of a comparison alternate in one run, because the computer's mood changes by the hour.
"""

import os
import platform
import statistics
import time

import numpy as np

from course_lib import run
from course_lib.collectives.allreduce_ring import allreduce_ring

REPEATS = 10


def nothing(comm):
    return comm.rank


def rings(comm, n_bytes, n_rings):
    """Do ring all-reduces; return the processor seconds that they took this rank."""
    x = np.ones(n_bytes // 8)
    comm.barrier()
    start_s = time.process_time()
    for _ in range(n_rings):
        allreduce_ring(comm, x)
    return time.process_time() - start_s


def launch_times(method, workers):
    """Return the seconds of warm launches, sorted."""
    run(nothing, workers=workers, start_method=method)
    times = []
    for _ in range(REPEATS):
        start_s = time.perf_counter()
        run(nothing, workers=workers, start_method=method)
        times.append(time.perf_counter() - start_s)
    return sorted(times)


def tracing_cost(n_bytes, n_rings):
    """Return the ratio of processor time with and without a trace, of all ranks together.

    Processor time, because what else the computer does moves the wall time by more than tracing.
    """
    seconds = {True: 0.0, False: 0.0}
    for repeat in range(REPEATS):
        for trace in (True, False) if repeat % 2 else (False, True):
            seconds[trace] += sum(run(rings, n_bytes, n_rings, workers=4, trace=trace).values)
    return seconds[True] / seconds[False]


def main():
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    for method in ("forkserver", "spawn"):
        times = launch_times(method, 4)
        median_s, best_s, worst_s = statistics.median(times), times[0], times[-1]
        print(
            f"4 warm workers, start, run and end, {method}: median {median_s:.3f} s "
            f"(from {best_s:.3f} to {worst_s:.3f})"
        )
    for n_bytes, n_rings in ((64 * 1024, 200), (8 * 2**20, 15)):
        print(f"tracing, ring of 4, {n_bytes:,} bytes: × {tracing_cost(n_bytes, n_rings):.3f}")


if __name__ == "__main__":
    main()
