"""A schedule as it flows: when everything happens, as a trace, and what every rank holds."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from course_lib.pipelines import SCHEDULES, Action, Schedule, Times
from course_lib.trace.contributions import Contributions, Counts, Fill
from course_lib.trace.events import Compute, Message, Wait
from course_lib.trace.trace import Trace
from course_lib.viz import Player, player

__all__ = ["NAMES", "Flow", "flow", "of_one_batch"]

NAMES = {
    "GPipe": "gpipe", "1F1B": "1f1b", "interleaved": "interleaved", "ZB-H1": "zb_h1",
    "ZB-V": "zb_v",
}  # fmt: skip
"""What the schedules of ``course_lib.pipelines`` are called in the literature."""

_MS = 1e-3
_SHAPE = (4, 1024)  # what crosses a cut: of 4 examples 1,024 numbers of 4 bytes each
_BYTES = 16_384
_WORDS = {"F": "forward", "I": "input gradient", "W": "weight gradient", "B": "backward"}
_KINDS = {"F": "F", "I": "I", "B": "I"}  # what other ranks wait for


@dataclass(frozen=True)
class Flow:
    """A step of a pipeline, in exact milliseconds.

    Attributes
    ----------
    schedule : Schedule
        Who does what.
    times : Times
        When.
    latency_ms : Fraction
        How long a message travels.
    """

    schedule: Schedule
    times: Times
    latency_ms: Fraction

    @property
    def ms(self) -> float:
        """What the step takes."""
        return float(self.times.makespan)

    @property
    def idle_ms(self) -> float:
        """For how long the rank that computes most is idle."""
        return float(min(self.times.idle(rank) for rank in range(self.schedule.n_ranks)))

    @property
    def held(self) -> list[float]:
        """Of how many micro-batches each rank holds activations at most, by rank."""
        return [float(self.schedule.peak(rank)) for rank in range(self.schedule.n_ranks)]

    @cached_property
    def trace(self) -> Trace:
        """Computing, messages and waiting, with the labels of ``course_lib.schemes.pipeline``."""
        computes, waits = [], []
        for rank, order in enumerate(self.schedule.orders):
            free = Fraction(0)
            for action in order:
                begins, ends = self.times.begins[action], self.times.ends[action]
                if begins > free:
                    waits.append(_wait(rank, self._awaited(action), free, begins))
                label = f"{_WORDS[action.kind]} {action}"
                computes.append(Compute(rank, label, 0.0, _s(begins), _s(ends)))
                free = ends
        computes.sort(key=lambda span: (span.start_s, span.rank))
        waits.sort(key=lambda wait: (wait.start_s, wait.rank))
        messages = [message for _, message in self._sent()]
        return Trace("simulated", "virtual", self.schedule.n_ranks, messages, computes, waits)

    @cached_property
    def contributions(self) -> Contributions:
        """Which micro-batches' activations every rank holds: from a forward pass to its W or B."""
        v = self.schedule.n_stages // self.schedule.n_ranks
        n_ranks, n_cells = self.schedule.n_ranks, self.schedule.microbatches
        levels, fills = [[0] * n_cells for _ in range(n_ranks)], []
        for action in sorted(self.times.ends, key=lambda action: self.times.ends[action]):
            if change := {"F": 1, "I": 0, "W": -1, "B": -1}[action.kind]:
                rank, cell = self.schedule.placement[action.stage], action.microbatch
                levels[rank][cell] += change
                level = levels[rank][cell]
                counts = (1,) * level + (0,) * (v - level)
                fills.append(Fill(rank, cell, counts, _s(self.times.ends[action])))
        empty: list[list[Counts]] = [[(0,) * v for _ in range(n_cells)] for _ in range(n_ranks)]
        carried: list[dict[int, Counts]] = [{m: (1,) * v} for m, _ in self._sent()]
        return Contributions([v] * n_cells, empty, carried, fills, "micro-batch")

    def player(self) -> Player:
        """Play it: the ranks in a row, in each a cell for every micro-batch that it may hold."""
        jumps = any(abs(m.src - m.dst) != 1 for m in self.trace.messages)
        return player(
            self.trace, "ring" if jumps else "line", contributions=self.contributions,
            title=str(self), moments=3 if jumps else 4,
        )  # fmt: skip

    def __str__(self) -> str:
        """Say what it takes, leaves idle and holds."""
        held = ", ".join(f"{n:g}" for n in self.held)
        return (
            f"{self.schedule.name}: {self.ms:g} ms, of which each rank is idle {self.idle_ms:g} ms "
            f"({self.idle_ms / self.ms:.0%}); held at most: {held}"
        )

    def _awaited(self, action: Action) -> int:
        """Return the rank that an action waits for last."""
        rank = self.schedule.placement[action.stage]
        needs = action.needs(self.schedule.n_stages)
        others = [self.schedule.placement[need.stage] for need in needs]
        return next((other for other in others if other != rank), rank)

    def _sent(self) -> list[tuple[int, Message]]:
        """List the messages with their micro-batches, in the order in which they leave."""
        sent = []
        for action, ends in self.times.ends.items():
            to = action.stage + (1 if action.kind == "F" else -1)
            if action.kind not in _KINDS or not 0 <= to < self.schedule.n_stages:
                continue
            src, dst = self.schedule.placement[action.stage], self.schedule.placement[to]
            if src != dst:
                begins = self.times.begins[self._user(action, to)]
                made = str(action._replace(kind=_KINDS[action.kind]))
                at = (_s(ends), _s(ends), _s(ends + self.latency_ms), _s(begins))
                message = Message(src, dst, made, "float32", _SHAPE, _BYTES, *at, "world")
                sent.append((action.microbatch, message))
        return sorted(sent, key=lambda one: (one[1].posted_s, one[1].src))

    def _user(self, action: Action, stage: int) -> Action:
        """Return the action of another stage that takes what this one has made."""
        kinds = "F" if action.kind == "F" else "IB"
        users = (Action(kind, stage, action.microbatch) for kind in kinds)
        return next(user for user in users if user in self.times.begins)


def _s(ms: Fraction) -> float:
    return float(ms) * _MS


def _wait(rank: int, peer: int, start: Fraction, end: Fraction) -> Wait:
    return Wait(rank, "recv", peer, _s(start), _s(end), "world")


def flow(
    schedule: str | Callable[[int, int], Schedule], ranks: int = 4, microbatches: int = 8,
    latency_ms: float = 0, forward: float = 1, input_gradient: float = 1,
    weight_gradient: float = 1,
) -> Flow:  # fmt: skip
    """Work out a step of a pipeline whose ranks are alike.

    Parameters
    ----------
    schedule : str or callable
        A name of ``NAMES``, or a function of the number of ranks and of micro-batches.
    ranks, microbatches : int
        How many, P and M.
    latency_ms : float, default: 0
        How long a message travels, in milliseconds.
    forward, input_gradient, weight_gradient : float, default: 1
        What a rank's part of the model takes for a micro-batch, in milliseconds.

    Returns
    -------
    Flow
        It plays, and says what it takes.

    Examples
    --------
    >>> print(flow("1F1B", ranks=2, microbatches=3))
    1F1B: 12 ms, of which each rank is idle 3 ms (25%); held at most: 2, 1
    """
    make = SCHEDULES[NAMES[schedule]] if isinstance(schedule, str) else schedule
    made = make(ranks, microbatches)
    made = replace(made, name=schedule) if isinstance(schedule, str) else made
    took = [Fraction(str(ms)) for ms in (forward, input_gradient, weight_gradient, latency_ms)]
    return Flow(made, made.times(*took), took[-1])


def of_one_batch(microbatches: int, ranks: int = 4, latency_ms: float = 0) -> Flow:
    """Cut one batch of 8 ms forward and 16 ms back through a stage into micro-batches, as GPipe.

    Parameters
    ----------
    microbatches : int
        How many, M: 1 is model parallelism without a pipeline.
    ranks : int, default: 4
        How many stages, P.
    latency_ms : float, default: 0
        How long a message travels, in milliseconds.

    Returns
    -------
    Flow
        All of the same batch, whatever M.
    """
    each = 8 / microbatches
    return flow("GPipe", ranks, microbatches, latency_ms, each, each, each)
