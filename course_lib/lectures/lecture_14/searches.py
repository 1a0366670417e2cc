"""Searches over the lecture's trials in virtual time, and what a picture shows of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import accumulate
from typing import Any

from course_lib.comm.launch import run
from course_lib.comm.simulated.faults import Crash, Faults
from course_lib.comm.simulated.network import Network
from course_lib.comm.simulated.networks import ethernet_10g
from course_lib.lectures.lecture_14.by_rule import ByRule, Rule
from course_lib.lectures.lecture_14.trials import LONGEST, look_up, space
from course_lib.search import (
    Asha,
    Outcome,
    RandomSearch,
    Strategy,
    SuccessiveHalving,
    best_of,
    rungs,
    search,
)
from course_lib.trace.contributions import Contributions, Counts, Fill
from course_lib.trace.events import Note
from course_lib.trace.trace import Trace
from course_lib.viz import Chart, Player, chart, player, table

__all__ = ["STRATEGIES", "Searched", "search_chart", "searched", "searched_by", "with_a_death"]

STRATEGIES: dict[str, Callable[[int, int, int], Strategy]] = {
    "random search": lambda n, most, _: RandomSearch(n, most),
    "halving": lambda n, most, eta: SuccessiveHalving(n, 1, most, eta),
    "ASHA": lambda n, most, eta: Asha(n, 1, most, eta),
}
"""Called with how many trials are begun, the most epochs of one, and eta."""

_NETWORK = replace(ethernet_10g, flops_per_s=1.0)  # a training is told in seconds


@dataclass(frozen=True)
class Searched:
    """A search in virtual time; rank 0 hands out jobs.

    Attributes
    ----------
    trace : Trace
        What happened, with a note ``"best"`` for the smallest loss known so far.
    outcomes : list of Outcome
        In the order in which they came in.
    resources : list of int
        The epochs of each rung.
    """

    trace: Trace
    outcomes: list[Outcome]
    resources: list[int]

    @property
    def epochs(self) -> int:
        """How many epochs were trained in all, those that were lost aside."""
        return sum(outcome.job.resource for outcome in self.outcomes)

    @property
    def busy(self) -> float:
        """Which part of the time the workers trained."""
        computing = sum(span.end_s - span.start_s for span in self.trace.computes)
        return computing / ((self.trace.size - 1) * self.trace.end_s)

    @property
    def best(self) -> Outcome:
        """The best of those that were trained longest."""
        return best_of(self.outcomes)

    @property
    def found(self) -> list[tuple[float, float]]:
        """When each outcome came in, and the smallest loss known then."""
        return [(note.time_s, note.value) for note in self.trace.notes_named("best")]

    def row(self) -> dict[str, Any]:
        """Sum it up, for a table."""
        return {
            "trainings": len(self.outcomes), "epochs": self.epochs,
            "seconds": round(self.trace.end_s, 1), "workers busy, %": round(100 * self.busy),
            "best trial": self.best.job.trial, "its loss": f"{self.best.loss:.3f}",
        }  # fmt: skip

    def player(self, title: str = "", **how: Any) -> Player:
        """Play it: every box has a cell for each trial, as full as it has come on the rungs.

        Parameters
        ----------
        title : str, default: ""
            What stands above it.
        **how
            For ``player``.

        Returns
        -------
        Player
            Rank 0's cells are the trials that have come in, a worker's the one that it trains.
        """
        return player(
            self.trace, "star", roles={0: "coordinator"}, contributions=self.contributions,
            title=title, **how,
        )  # fmt: skip

    @property
    def contributions(self) -> Contributions:
        """How far each trial has come: on rank 0, on the worker that trains it, in a message."""
        goal = len(self.resources)
        n_trials = 1 + max(outcome.job.trial for outcome in self.outcomes)
        fills = [
            Fill(0, outcome.job.trial, self._level(outcome.job.resource), time_s)
            for outcome, (time_s, _) in zip(self.outcomes, self.found, strict=True)
        ]
        for rank in range(1, self.trace.size):
            fills += self._of_worker(rank)
        fills.sort(key=lambda fill: fill.time_s)
        held: list[list[Counts]] = [[(0,) * goal] * n_trials for _ in range(self.trace.size)]
        return Contributions([goal] * n_trials, held, [*self._carried()], fills, "trial")

    def _level(self, resource: int) -> Counts:
        done = self.resources.index(resource) + 1
        return (1,) * done + (0,) * (len(self.resources) - done)

    def _of_worker(self, rank: int) -> Iterator[Fill]:
        """Fill a worker's cell when it begins, and empty it when it has sent the loss."""
        nothing: Counts = (0,) * len(self.resources)
        ends = [m.posted_s for m in self.trace.messages if m.src == rank]
        ends += [fault.time_s for fault in self.trace.faults if fault.rank == rank]
        for note in self.trace.notes_named("trains"):
            if note.rank == rank:
                trial, resource = note.value
                yield Fill(rank, trial, self._level(resource), note.time_s)
                end_s = min(end for end in ends if end > note.time_s)
                yield Fill(rank, trial, nothing, end_s)

    def _carried(self) -> Iterator[dict[int, Counts]]:
        """Say of a message which trial it is about: a job the next that its worker trains."""
        for message in self.trace.messages:
            worker = message.dst or message.src
            notes = [n for n in self.trace.notes_named("trains") if n.rank == worker]
            if message.src == 0:
                told = next((n for n in notes if n.time_s >= message.posted_s), None)
            else:
                told = next((n for n in reversed(notes) if n.time_s <= message.posted_s), None)
            is_about = told is not None and message.n_bytes > 0
            yield {told.value[0]: self._level(told.value[1])} if told and is_about else {}


@lru_cache(maxsize=256)
def searched(
    method: str, trials: int = 9, workers: int = 4, most: int = 9, eta: int = 3,
    times: str = "size",
) -> Searched:  # fmt: skip
    """Search in virtual time.

    Parameters
    ----------
    method : {"random search", "halving", "ASHA"}
        Which strategy.
    trials : int, default: 9
        How many are begun.
    workers : int, default: 4
        How many train, beside the rank that hands out.
    most : int, default: 9
        The most epochs of a training.
    eta : int, default: 3
        One in so many goes on, for so many times the epochs.
    times : {"alike", "size", "slow"}, default: "size"
        How long an epoch takes, see ``TIMES``; "slow": the last worker also takes three times as
        long.

    Returns
    -------
    Searched
        The run.
    """
    network = _NETWORK.with_straggler(rank=workers, factor=3) if times == "slow" else _NETWORK
    rungs_of = _resources(method, trials, most, eta)
    return _launched(STRATEGIES[method](trials, most, eta), rungs_of, workers, times, network)


def searched_by(rule: Rule, trials: int = 9, workers: int = 4, most: int = 9) -> Searched:
    """Search with a function that says what is handed out; larger nets are slower.

    Parameters
    ----------
    rule : callable
        The function, as in exercise 1.
    trials, workers, most : int
        As above.

    Returns
    -------
    Searched
        The run.
    """
    strategy = ByRule(rule, trials, 1, most)
    return _launched(strategy, _resources("ASHA", trials, most, 3), workers, "size", _NETWORK)


def _resources(method: str, trials: int, most: int, eta: int) -> list[int]:
    first = most if method == "random search" else 1
    return [rung.resource for rung in rungs(trials, first, most, eta)]


def with_a_death(
    died_s: float = 1.5, back_s: float | None = 2.0, trials: int = 12, workers: int = 4
) -> Searched:
    """Search at random, an epoch each, all alike; worker 3 dies.

    Parameters
    ----------
    died_s : float, default: 1.5
        When.
    back_s : float or None, default: 2.0
        When it is started again; None for never.
    trials, workers : int, default: 12 and 4
        How many.

    Returns
    -------
    Searched
        The run.
    """
    faults = Faults([Crash(3, died_s, back_s)])
    strategy = RandomSearch(trials, 1)
    return _launched(strategy, [1], workers, "alike", _NETWORK, survive=True, faults=faults)


def _launched(
    strategy: Strategy, resources: list[int], workers: int, times: str, network: Network,
    **how: Any,
) -> Searched:  # fmt: skip
    made = run(
        search, strategy, space(), partial(look_up, times=times), workers=1 + workers,
        backend="simulated", network=network, **how,
    )  # fmt: skip
    assert made.trace is not None
    outcomes: list[Outcome] = made.values[0]
    heard = sorted(m.received_s or 0.0 for m in made.trace.messages if m.tag == "outcome")
    losses = accumulate((outcome.loss for outcome in outcomes), min)
    best = [Note(0, "best", loss, at) for loss, at in zip(losses, heard, strict=True)]
    return Searched(replace(made.trace, notes=[*made.trace.notes, *best]), outcomes, resources)


def search_chart(workers: int, trials: int, eta: int, times: str) -> Chart:
    """Draw the best loss known so far over the seconds, for the three strategies.

    Random search trains each as long as the others train on their last rung, so that all end with
    the same: with 27 trials and eta 3 that is 27 epochs.

    Parameters
    ----------
    workers, trials, eta : int
        See ``searched``.
    times : {"alike", "size", "slow"}
        See ``TIMES``.

    Returns
    -------
    Chart
        A curve for each strategy, and a table of what it cost.
    """
    most = rungs(trials, 1, LONGEST, eta)[-1].resource
    found = {name: searched(name, trials, workers, most, eta, times) for name in STRATEGIES}
    rows = {name: one.row() for name, one in found.items()}
    ends = {name: one.trace.end_s for name, one in found.items()}
    first_s = min(ends.values())
    first = [name for name, end_s in ends.items() if end_s < first_s + 0.05]  # the table's rounding
    done = f"{' and '.join(first)} {'are' if len(first) > 1 else 'is'} done first"
    times_as_fast = ends["random search"] / first_s
    return chart(
        {name: _stairs(one.found) for name, one in found.items()},
        x_log=True, y_log=True, x_range=(0.05, 2000), y_range=(0.08, 3),
        x_ticks=(0.1, 1, 10, 100, 1000),
        x_label="seconds", y_label="best loss so far", below=table(rows), reference="random search",
        said=f"{done}, {times_as_fast:.3g} times as early as random search.",
    )  # fmt: skip


def _stairs(found: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Keep the best loss until a better one is known."""
    walk = found[:1]
    for time_s, loss in found[1:]:
        walk += [(time_s, walk[-1][1]), (time_s, loss)]
    return walk
