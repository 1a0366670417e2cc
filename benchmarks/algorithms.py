"""Each of our all-reduces against gloo, which chooses its algorithm itself: a ring, in chunks."""

from collections.abc import Callable
from typing import Any

from benchmarks.exchange import Measured, Task, Vector, measure, slowest
from benchmarks.gloo import measure_gloo
from benchmarks.ours import Ours
from benchmarks.plan import Plan, Progress, size_name
from benchmarks.samples import Key, Samples
from course_lib import run
from course_lib.collectives import ALLREDUCES
from course_lib.comm.communicator import Communicator

__all__ = ["algorithm_entries", "algorithm_table", "measure_algorithms"]

PEER = "gloo"
_WHAT = "all-reduce of {} bytes, by algorithm"
# Other measurements name their keys otherwise: gloo's rounds here took turns with ours here.


class OneOfOurs(Ours):
    """A rank of ours that sums with a given algorithm."""

    def __init__(self, comm: Communicator, algorithm: str) -> None:
        super().__init__(comm)
        self.name = algorithm
        self._allreduce = ALLREDUCES[algorithm]

    def prepare(self, x: Vector, n_calls: int) -> Callable[[], list[Vector]]:
        places = [x.copy() for _ in range(n_calls)]
        return lambda: [self._allreduce(self._comm, place, out=place) for place in places]


def measure_algorithms(plan: Plan, progress: Progress, samples: Samples) -> None:
    """Measure gloo, then all of ours, and again, as often as the plan says."""
    task = Task(plan.algorithm_sizes, plan.n_batches)
    progress.expect(plan.algorithm_rounds * len(plan.processes) * (1 + len(ALLREDUCES)))
    for _ in range(plan.algorithm_rounds):
        for processes in plan.processes:
            progress.step(f"algorithms: {PEER}, {processes} processes")
            samples.add_all(PEER, processes, _named(measure_gloo(task, processes)))
            for algorithm in ALLREDUCES:
                progress.step(f"algorithms: {algorithm}, {processes} processes")
                measured = run(_work, algorithm, task, workers=processes, time_limit_s=600).values
                samples.add_all(algorithm, processes, _named(slowest(measured)))


def algorithm_entries(samples: Samples) -> list[dict[str, Any]]:
    """Return how many times as fast as gloo each algorithm is, with lowest and highest round."""
    entries = []
    for key in samples.rounds:
        peer = Key(key.what, key.processes, PEER)
        if key.engine not in ALLREDUCES or peer not in samples.rounds:
            continue
        entry = {"algorithm": key.engine, "processes": key.processes, "bytes": _bytes(key.what)}
        found = samples.ratio([(peer, key)]).as_dict()
        entries.append(entry | {"times_as_fast": found.pop("median")} | found)
    return entries


def algorithm_table(entries: list[dict[str, Any]], rounds: int) -> str:
    """Return the entries as a table: a row for each size, a column for each algorithm."""
    algorithms = list(dict.fromkeys(entry["algorithm"] for entry in entries))
    groups = sorted({entry["processes"] for entry in entries})
    found = {(e["algorithm"], e["bytes"], e["processes"]): e["times_as_fast"] for e in entries}
    what = f"times as fast as gloo, {' / '.join(map(str, groups))} processes, {rounds} rounds"
    lines = [f"| {what} | {' | '.join(algorithms)} |", "|---|" + "---|" * len(algorithms)]
    for size in sorted({entry["bytes"] for entry in entries}):
        cells = [
            " / ".join(_two_digits(found[algorithm, size, group]) for group in groups)
            for algorithm in algorithms
        ]
        lines.append(f"| {size_name(size)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _two_digits(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"


def _named(measured: Measured) -> Measured:
    return {_WHAT.format(n_bytes): seconds for n_bytes, seconds in measured.items()}


def _bytes(what: str) -> int:
    return int(what.split()[2])


def _work(comm: Communicator, algorithm: str, task: Task) -> Measured:
    return measure(OneOfOurs(comm, algorithm), task)
