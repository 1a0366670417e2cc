"""What is handed out, what comes back, and what a strategy is."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

__all__ = ["Job", "Outcome", "Strategy", "best_of"]


class Job(NamedTuple):
    """One training.

    Attributes
    ----------
    trial : int
        Which trial, from 0: its numbers are drawn from that.
    resource : int
        How long it is trained, from the start: epochs, for one.
    """

    trial: int
    resource: int


class Outcome(NamedTuple):
    """What a job came to.

    Attributes
    ----------
    job : Job
        Which.
    loss : float
        The smaller the better; what is no number counts as infinite.
    """

    job: Job
    loss: float


class Strategy(Protocol):
    """What decides which job comes next; it knows no workers and sends nothing."""

    def next_job(self) -> Job | None:
        """Return a job, each once; None if there is none before another outcome is told, or ever.

        Where no job is under way, None is the end.
        """
        ...

    def tell(self, outcome: Outcome) -> None:
        """Take in what one of its jobs came to."""
        ...


def best_of(outcomes: Sequence[Outcome]) -> Outcome:
    """Return the best of those that were trained longest; of equals, the first trial.

    Parameters
    ----------
    outcomes : sequence of Outcome
        One or more.

    Returns
    -------
    Outcome
        Losses after fewer steps are not compared with it.
    """
    longest = max(outcome.job.resource for outcome in outcomes)
    return min(
        (outcome for outcome in outcomes if outcome.job.resource == longest),
        key=lambda outcome: (outcome.loss, outcome.job.trial),
    )
