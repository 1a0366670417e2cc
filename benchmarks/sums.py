"""All-reduce and latency: ours, gloo, MPICH, the memory's floor, ours again, and so on."""

from collections.abc import Callable

from benchmarks.exchange import Measured, Task
from benchmarks.gloo import measure_gloo
from benchmarks.mpich import measure_mpich, why_missing
from benchmarks.ours import OursNew, floor_seconds, measure_ours, measure_ours_new
from benchmarks.peers import PeerFailed
from benchmarks.plan import Plan, Progress
from benchmarks.samples import Key, Samples

__all__ = ["ENGINES", "FLOOR", "PING", "measurable_engines", "measure_sums"]

FLOOR = Key("copy", 2, "floor")
PING = "ping"
ENGINES: dict[str, Callable[[Task, int], Measured]] = {
    "ours": measure_ours,
    "gloo": measure_gloo,
    "MPICH": measure_mpich,
    OursNew.name: measure_ours_new,
}
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
        engines = [name for name in engines if name != OursNew.name]
    progress.expect(plan.rounds * (len(tasks) * len(engines) + bool(plan.sizes)))
    for _ in range(plan.rounds):
        for processes, task in tasks.items():
            for name in engines:
                progress.step(f"sums: {name}, {processes} processes")
                samples.add_all(name, processes, ENGINES[name](task, processes))
        if plan.sizes:
            progress.step("the memory's floor")
            samples.add(FLOOR, floor_seconds())
