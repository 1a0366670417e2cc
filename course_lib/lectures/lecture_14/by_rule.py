"""A strategy that asks a function: the learner's, for one."""

from collections.abc import Callable, Sequence

from course_lib.search import Job, Outcome, rungs

__all__ = ["ByRule", "Rule"]

Rule = Callable[[list[dict[int, float]], list[list[int]], int, int, int], Sequence[int]]
"""Called with the losses by rung and trial, who was promoted, how many are begun, how many are to
begin, and eta; returns a trial and its rung, or nothing."""


class ByRule:
    """Hand out what a function says.

    Parameters
    ----------
    rule : callable
        The function.
    n, least, most, eta : int
        See ``rungs``.
    """

    def __init__(self, rule: Rule, n: int, least: int, most: int, eta: int = 3) -> None:
        self._resources = [rung.resource for rung in rungs(n, least, most, eta)]
        self._rule, self._n, self._eta = rule, n, eta
        self._n_begun = 0
        self._done: list[dict[int, float]] = [{} for _ in self._resources]
        self._promoted: list[list[int]] = [[] for _ in self._resources[1:]]

    def next_job(self) -> Job | None:
        """Ask, and keep in mind what was said."""
        done = [dict(rung) for rung in self._done]
        promoted = [list(rung) for rung in self._promoted]
        said = self._rule(done, promoted, self._n_begun, self._n, self._eta)
        if not said:
            return None
        trial, rung = said
        if rung:
            self._promoted[rung - 1].append(trial)
        else:
            self._n_begun += 1
        return Job(trial, self._resources[rung])

    def tell(self, outcome: Outcome) -> None:
        """Take in a loss on its rung."""
        rung = self._resources.index(outcome.job.resource)
        self._done[rung][outcome.job.trial] = outcome.loss
