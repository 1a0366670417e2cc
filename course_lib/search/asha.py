"""ASHA: successive halving in which nobody waits for a rung to be complete."""

from course_lib.search.job import Job, Outcome
from course_lib.search.rungs import rungs

__all__ = ["Asha"]


class Asha:
    """Whoever is free promotes a trial that is among the best so far, or begins a new one.

    A trial goes on as soon as it is in the best ``1 / eta`` of those that have come as far; if
    there is none on any rung, the highest first, another trial is begun. Now and then one is
    promoted that would not have been, had all been known; in return no worker is idle while trials
    are left.

    Parameters
    ----------
    n, least, most, eta : int
        See ``rungs``; n trials are begun.

    Notes
    -----
    Cost: about that of ``SuccessiveHalving``, and of each trial that was promoted too early.

    References
    ----------
    L. Li, K. Jamieson, A. Rostamizadeh et al., "A system for massively parallel hyperparameter
    tuning", MLSys 2020 (arXiv:1810.05934), algorithm 2.
    """

    def __init__(self, n: int, least: int, most: int, eta: int = 3) -> None:
        self._resources = [rung.resource for rung in rungs(n, least, most, eta)]
        self._eta, self._n = eta, n
        self._n_begun = 0
        self._done: list[list[Outcome]] = [[] for _ in self._resources]  # by rung
        self._promoted: list[set[int]] = [set() for _ in self._resources]

    def next_job(self) -> Job | None:
        """Return a promotion, from the highest rung that has one, or a new trial."""
        for level in reversed(range(len(self._resources) - 1)):
            done = sorted(self._done[level], key=lambda one: (one.loss, one.job.trial))
            for outcome in done[: len(done) // self._eta]:
                trial = outcome.job.trial
                if trial not in self._promoted[level]:
                    self._promoted[level].add(trial)
                    return Job(trial, self._resources[level + 1])
        if self._n_begun == self._n:
            return None
        self._n_begun += 1
        return Job(self._n_begun - 1, self._resources[0])

    def tell(self, outcome: Outcome) -> None:
        """Take in a loss on its rung."""
        self._done[self._resources.index(outcome.job.resource)].append(outcome)
