"""A schedule is data: where each stage lives, and what each rank does, one action after another."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from course_lib.words.whole import whole

if TYPE_CHECKING:
    from course_lib.pipelines.times import Times

__all__ = ["Action", "Exact", "MakesSchedule", "Schedule", "check_numbers"]

Exact: TypeAlias = int | Fraction
"""A number without rounding."""


class Action(NamedTuple):
    """One stage's work on one micro-batch; written as ``2I1``: stage, kind, micro-batch.

    Attributes
    ----------
    kind : {"F", "I", "W", "B"}
        Forward; back to the inputs; back to the weights; or B, the whole way back, I and W in one.
    stage : int
        Which stage, from 0, in the order of the forward pass.
    microbatch : int
        Which part of the batch, from 0.
    """

    kind: str
    stage: int
    microbatch: int

    def __str__(self) -> str:
        """Write it as torch.distributed.pipelining does."""
        return f"{self.stage}{self.kind}{self.microbatch}"

    @property
    def made(self) -> tuple["Action", ...]:
        """What is there when it is over: a B is an I and a W."""
        return tuple(self._replace(kind=kind) for kind in ("IW" if self.kind == "B" else self.kind))

    def needs(self, n_stages: int) -> tuple["Action", ...]:
        """Return what must be there before it can begin, in the terms of ``made``.

        Parameters
        ----------
        n_stages : int
            How many stages the pipeline has.

        Returns
        -------
        tuple of Action
            At most two, its own stage's first.
        """
        kind, stage, microbatch = self
        if kind == "F":
            return (Action("F", stage - 1, microbatch),) if stage else ()
        if kind == "W":
            return (Action("I", stage, microbatch),)
        own = Action("F", stage, microbatch)
        return (own,) if stage == n_stages - 1 else (own, Action("I", stage + 1, microbatch))


@dataclass(frozen=True)
class Schedule:
    """Who does what in one step, and in which order; nothing says when.

    Attributes
    ----------
    name : str
        What to call it.
    orders : tuple of tuple of Action
        For each rank, its actions in order.
    placement : tuple of int
        For each stage, the rank on which it lives.
    microbatches : int
        Into how many parts a batch is cut, M.
    """

    name: str
    orders: tuple[tuple[Action, ...], ...]
    placement: tuple[int, ...]
    microbatches: int

    @property
    def n_ranks(self) -> int:
        """How many ranks it is for, P."""
        return len(self.orders)

    @property
    def n_stages(self) -> int:
        """Into how many stages the model is cut."""
        return len(self.placement)

    def stages_of(self, rank: int) -> list[int]:
        """Return the numbers of the stages that live on a rank, in order."""
        return [stage for stage, home in enumerate(self.placement) if home == rank]

    @property
    def cuts(self) -> int:
        """How many neighbouring stages live on different ranks."""
        pairs = zip(self.placement, self.placement[1:], strict=False)
        return sum(before != after for before, after in pairs)

    @property
    def n_messages(self) -> int:
        """How many messages a step takes: forward and back, over each cut, for each micro-batch."""
        return 2 * self.microbatches * self.cuts

    def held(self, rank: int) -> list[int]:
        """Count whose activations a rank holds after each of its actions.

        Parameters
        ----------
        rank : int
            Which.

        Returns
        -------
        list of int
            Pairs of a stage and a micro-batch: one comes with its F, and goes with its W or B.
        """
        counts, n = [], 0
        for action in self.orders[rank]:
            n += {"F": 1, "I": 0, "W": -1, "B": -1}[action.kind]
            counts.append(n)
        return counts

    def peak(self, rank: int) -> Fraction:
        """Return the most activations that a rank holds at once, in those of all its stages.

        Parameters
        ----------
        rank : int
            Which.

        Returns
        -------
        Fraction
            1 is what a rank's whole part of the model keeps for one micro-batch.
        """
        return Fraction(max(self.held(rank)), len(self.stages_of(rank)))

    def times(
        self,
        forward: Exact = 1,
        input_gradient: Exact = 1,
        weight_gradient: Exact = 1,
        latency: Exact = 0,
    ) -> "Times":
        """Work out, exactly, when everything is done; see ``course_lib.pipelines.times``.

        Parameters
        ----------
        forward, input_gradient, weight_gradient : int or Fraction, default: 1
            What a rank's whole part of the model takes for a micro-batch; a stage takes its part.
        latency : int or Fraction, default: 0
            How long a message travels between two ranks.

        Returns
        -------
        Times
            The makespan, and what of it each rank is idle.
        """
        from course_lib.pipelines.times import evaluate  # which needs this file

        took = {"F": forward, "I": input_gradient, "W": weight_gradient}
        took["B"] = input_gradient + weight_gradient

        def duration(action: Action) -> Fraction:
            n_stages = len(self.stages_of(self.placement[action.stage]))
            return Fraction(took[action.kind]) / n_stages

        return evaluate(self, duration, latency)


MakesSchedule: TypeAlias = Callable[[int, int], Schedule]
"""Called with the number of ranks and of micro-batches."""


def check_numbers(ranks: int, microbatches: int, chunks: int = 1) -> None:
    """Refuse what is no number of ranks, of micro-batches or of chunks: the first line of each.

    Parameters
    ----------
    ranks, microbatches, chunks : int
        P, M and v, each 1 or more.

    Raises
    ------
    TypeError, ValueError
        Naming the argument.
    """
    whole("ranks", ranks, 1)
    whole("microbatches", microbatches, 1)
    whole("chunks", chunks, 1)
