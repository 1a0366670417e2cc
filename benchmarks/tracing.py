"""What recording a trace costs: the same ring with and without."""

import time

from benchmarks.exchange import Measured, contribution, slowest
from benchmarks.plan import Plan, Progress, size_name
from benchmarks.samples import Key, Samples
from course_lib import run
from course_lib.collectives import allreduce_ring
from course_lib.comm.communicator import Communicator

__all__ = ["PROCESSOR", "TRACED", "UNTRACED", "measure_tracing"]

TRACED, UNTRACED = "traced", "untraced"
WALL, PROCESSOR = "wall time", "processor time"
_BYTES_PER_ROUND = 64 * 2**20
_MOST_RINGS = 200


def measure_tracing(plan: Plan, progress: Progress, samples: Samples) -> None:
    """Measure wall time, and processor time of all ranks together.

    What else the computer does moves the wall time by more than tracing, the processor time less.
    """
    progress.expect(plan.rounds * len(plan.processes))
    for round_ in range(plan.rounds):
        for processes in plan.processes:
            progress.step(f"tracing, {processes} processes")
            for n_bytes in plan.traced_sizes:
                for trace in (True, False) if round_ % 2 else (False, True):
                    ranks = run(_rings, n_bytes, workers=processes, trace=trace).values
                    engine = TRACED if trace else UNTRACED
                    wall = Key(f"{size_name(n_bytes)}, {WALL}", processes, engine)
                    samples.add(wall, slowest(ranks)["wall"])
                    processor = Key(f"{size_name(n_bytes)}, {PROCESSOR}", processes, engine)
                    samples.add(processor, [sum(rank["processor"][0] for rank in ranks)])


def _rings(comm: Communicator, n_bytes: int) -> Measured:
    x = contribution(comm.rank, n_bytes)
    allreduce_ring(comm, x)
    comm.barrier()
    wall_s, processor_s = time.perf_counter(), time.process_time()
    n_rings = min(_MOST_RINGS, _BYTES_PER_ROUND // n_bytes)
    for _ in range(n_rings):
        allreduce_ring(comm, x)
    wall_s, processor_s = time.perf_counter() - wall_s, time.process_time() - processor_s
    return {"wall": [wall_s / n_rings], "processor": [processor_s / n_rings]}
