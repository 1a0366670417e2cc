"""Coordinators that go wrong when a worker dies, and the history of what they do."""

from collections.abc import Callable, Mapping
from typing import Any

from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.comm.simulated.faults import Crash, Faults
from course_lib.comm.simulated.network import Network
from course_lib.lectures.lecture_14.trials import NumberedSpace
from course_lib.search import Outcome, RandomSearch, Strategy, search
from course_lib.search.coordinator import Coordinator
from course_lib.trace.trace import Trace

__all__ = ["COORDINATORS", "Forgets", "GivesTwice", "History", "Impatient", "history_of", "played"]

History = list[tuple[str, int, int]]
"""What happened, to which worker, with which trial; a death has trial -1."""

_NETWORK = Network("a search", 1e-5, float("inf"), 1.0)


class Forgets(Coordinator):
    """When a worker is lost, its job is, too."""

    def lose(self, worker: int) -> None:
        """Forget a worker."""
        self._under_way.pop(worker, None)
        self._free = [other for other in self._free if other != worker]


class GivesTwice(Coordinator):
    """When a worker is lost, its job is put aside by the one who notices, and by the list."""

    def lose(self, worker: int) -> None:
        """Forget a worker, and put its job aside."""
        if worker in self._under_way:
            self._again.append(self._under_way[worker])
        super().lose(worker)


class Impatient(Coordinator):
    """Where nothing else is left, whoever is free gets a job that somebody is busy with."""

    def _hand_out(self) -> None:
        """Hand out what there is, then copies, each once."""
        super()._hand_out()
        copied: set[Any] = self.__dict__.setdefault("_copied", set())
        for job in [job for job in self._under_way.values() if job not in copied]:
            if self._free:
                copied.add(job)
                self._again.append(job)
                super()._hand_out()


COORDINATORS: dict[str, Callable[[Communicator, Strategy], Coordinator]] = {
    "one that forgets": Forgets,
    "a careful one": Coordinator,
    "one that gives out twice": GivesTwice,
    "an impatient one": Impatient,
}


def played(name: str, deaths: Mapping[int, tuple[float, float | None]], trials: int = 8) -> Trace:
    """Search at random with three workers and a coordinator; a training takes 1 to 3 seconds.

    Parameters
    ----------
    name : str
        In ``COORDINATORS``.
    deaths : dict of int to (float, float or None)
        By worker when it dies, and when it is started again.
    trials : int, default: 8
        How many are begun.

    Returns
    -------
    Trace
        What happened.
    """
    faults = Faults([Crash(rank, *times) for rank, times in deaths.items()])
    made = run(
        _search_with, COORDINATORS[name], RandomSearch(trials, 1), workers=4, survive=True,
        backend="simulated", network=_NETWORK, faults=faults,
    )  # fmt: skip
    assert made.trace is not None
    return made.trace


def history_of(trace: Trace) -> History:
    """Read off which trials were given to whom, whose losses came in, and who died.

    Parameters
    ----------
    trace : Trace
        Of ``played``.

    Returns
    -------
    list of (str, int, int)
        ``("given", worker, trial)``, ``("loss", worker, trial)`` or ``("died", worker, -1)``, in
        order of time.
    """
    begun = [(n.time_s, "given", n.rank, n.value) for n in trace.notes_named("trains")]
    found = [*begun]
    for message in trace.messages:
        if message.tag == "outcome":
            trial = [t for at, _, rank, t in begun
                     if rank == message.src and at <= message.posted_s][-1]  # fmt: skip
            found.append((message.received_s or 0.0, "loss", message.src, trial))
    found += [(f.time_s, "died", f.rank or 0, -1) for f in trace.faults if f.kind == "Crash"]
    return [record[1:] for record in sorted(found)]


def _search_with(
    comm: Communicator, make: Callable[..., Coordinator], strategy: Strategy
) -> list[Outcome]:
    space = NumberedSpace({}, seed=0)
    if comm.rank:
        return search(comm, strategy, space, _train)
    return make(comm, strategy).carry_out()


def _train(comm: Communicator, numbers: dict[str, Any], _: int) -> float:
    trial: int = numbers["trial"]
    comm.note("trains", trial)
    with comm.compute(f"trial {trial}", flops=1.0 + trial * 5 % 3):
        return float(trial)
