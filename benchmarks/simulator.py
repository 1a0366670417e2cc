"""How many messages a second the simulator moves, and how much memory they take, with trace.

A ring all-reduce of 1,024 ranks, 2.1 million messages, each time in a fresh process, because what a
process has needed at most can be asked only once. The number to compare with is that of SimGrid's
Python binding, which is no part of the environment: it is not measured here.

``python -m benchmarks.simulator 1024`` does it once, for any number of ranks.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.peers import running, wait_for
from benchmarks.plan import Plan, Progress
from benchmarks.samples import Key, Samples
from course_lib import run
from course_lib.collectives import allreduce_ring
from course_lib.comm.communicator import Communicator

__all__ = ["measure_simulator", "n_ring_messages", "simulated_key"]

_TIME_LIMIT_S = 600
_NUMBERS_A_CHUNK = 4
"""Not one: NumPy adds arrays of one number four times as slowly as those of two to fifty."""


def simulated_key(ranks: int) -> Key:
    return Key("simulated ring", ranks, "ours")


def n_ring_messages(ranks: int) -> int:
    """Return how many messages a ring all-reduce sends in all."""
    return 2 * ranks * (ranks - 1)


def measure_simulator(plan: Plan, progress: Progress, samples: Samples) -> None:
    """Measure seconds and peak memory, once a round."""
    progress.expect(plan.rounds)
    for _ in range(plan.rounds):
        progress.step(f"simulator, {plan.simulated_ranks:,} ranks")
        found = _in_a_fresh_process(plan.simulated_ranks)
        samples.add(simulated_key(plan.simulated_ranks), [found["seconds"]])
        samples.peak_bytes[simulated_key(plan.simulated_ranks)].append(found["peak_bytes"])


def _in_a_fresh_process(ranks: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.simulator", str(ranks)]
    with tempfile.TemporaryDirectory(prefix="peer-") as name:
        output = Path(name) / "output.txt"
        with running([command], output) as started:
            wait_for(started, output)
        found: dict[str, float] = json.loads(output.read_text())
    return found


def simulate(ranks: int) -> dict[str, float]:
    """All-reduce a few numbers a chunk; check the sum and the trace."""
    start_s = time.perf_counter()
    result = run(_sum_of_ranks, workers=ranks, backend="simulated", time_limit_s=_TIME_LIMIT_S)
    seconds = time.perf_counter() - start_s
    right = [float(np.arange(ranks).sum())] * ranks
    if result.values != right or result.trace.n_messages != n_ring_messages(ranks):
        raise RuntimeError("WrongSum: the simulated ring did not add up")
    return {"seconds": seconds, "peak_bytes": peak_bytes()}


def _sum_of_ranks(comm: Communicator) -> float:
    total = allreduce_ring(comm, np.full(_NUMBERS_A_CHUNK * comm.size, float(comm.rank)))
    return float(total.mean())


def peak_bytes() -> int:
    """Return the most memory that this process has held so far."""
    if sys.platform == "win32":
        import psutil

        return int(psutil.Process().memory_info().peak_wset)
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak  # bytes there, kilobytes elsewhere


if __name__ == "__main__":
    print(json.dumps(simulate(int(sys.argv[1]))))
