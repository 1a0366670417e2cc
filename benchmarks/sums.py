"""All-reduce and latency: ours, gloo, MPICH, the memory's floor, ours again, and so on.

The same on a busy computer: ours and gloo, with as many processes beside them that only compute.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benchmarks.exchange import Measured, Task
from benchmarks.gloo import measure_gloo
from benchmarks.mpich import measure_mpich, why_missing
from benchmarks.ours import OursChosen, OursNew, floor_seconds, measure_ours, measure_ours_as
from benchmarks.peers import PeerFailed, interrupts_afterwards
from benchmarks.plan import Plan, Progress
from benchmarks.samples import Key, Samples

__all__ = [
    "BUSY", "ENGINES", "FLOOR", "PING", "measurable_engines", "measure_busy", "measure_sums",
]  # fmt: skip

FLOOR = Key("copy", 2, "floor")
PING = "ping"
ENGINES: dict[str, Callable[[Task, int], Measured]] = {
    "ours": measure_ours,
    "gloo": measure_gloo,
    "MPICH": measure_mpich,
    OursChosen.name: measure_ours_as(OursChosen),
    OursNew.name: measure_ours_as(OursNew),
}
BUSY = ", busy"
_N_BUSY = 2
_PROBE = Task(sizes=(1024,), n_batches=1)


def measurable_engines(progress: Progress) -> list[str]:
    """Return all engines, or tell why MPICH, which is optional, is left out."""
    missing = why_missing()
    if not missing:
        try:
            measure_mpich(_PROBE, 2)
        except PeerFailed as error:
            missing = f"it does not run here: {error}"
    if missing:
        progress.tell(f"MPICH is left out: {missing}")
    return [name for name in ENGINES if name != "MPICH" or not missing]


def measure_sums(plan: Plan, engines: list[str], progress: Progress, samples: Samples) -> None:
    """Measure sums if the plan has sizes, and latency if it has round trips."""
    tasks = {
        processes: Task(plan.sizes, plan.n_batches, plan.n_pings if processes == 2 else 0)
        for processes in plan.processes
        if plan.sizes or processes == 2
    }
    if not plan.sizes:
        engines = [name for name in engines if name not in (OursNew.name, OursChosen.name)]
    progress.expect(plan.rounds * (len(tasks) * len(engines) + bool(plan.sizes)))
    for _ in range(plan.rounds):
        for processes, task in tasks.items():
            for name in engines:
                progress.step(f"sums: {name}, {processes} processes")
                samples.add_all(name, processes, ENGINES[name](task, processes))
        if plan.sizes:
            progress.step("the memory's floor")
            samples.add(FLOOR, floor_seconds())


def measure_busy(plan: Plan, progress: Progress, samples: Samples) -> None:
    """Measure ours and gloo while other processes want the cores as well."""
    task = Task(plan.busy_sizes, plan.n_batches)
    progress.expect(plan.rounds * len(plan.processes) * 2)
    for _ in range(plan.rounds):
        for processes in plan.processes:
            for name in ("ours", "gloo"):
                progress.step(f"sums, busy: {name}, {processes} processes")
                with _busy_processes():
                    found = ENGINES[name](task, processes)
                samples.add_all(name, processes, {what + BUSY: s for what, s in found.items()})


@contextmanager
def _busy_processes() -> Iterator[None]:
    """Have processes that compute without end, until the block is left."""
    busy: list[subprocess.Popen[bytes]] = []
    try:
        for _ in range(_N_BUSY):
            with interrupts_afterwards():
                busy.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()
