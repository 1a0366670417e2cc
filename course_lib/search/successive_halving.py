"""Successive halving: train many trials for a short while, the best of them longer, and again."""

from collections.abc import Sequence

from course_lib.search.job import Job, Outcome
from course_lib.search.rungs import rungs

__all__ = ["SuccessiveHalving"]


class SuccessiveHalving:
    """Begin a rung when all of the one before are done, with the best of those.

    So the choice is that of the whole rung, and workers stand idle at the end of every rung.

    Parameters
    ----------
    n, least, most, eta : int
        See ``rungs``.

    Notes
    -----
    Cost: the sum of ``n_trials x resource`` over ``rungs(n, r, R, eta)``.

    References
    ----------
    K. Jamieson and A. Talwalkar, "Non-stochastic best arm identification and hyperparameter
    optimization", AISTATS 2016.
    """

    def __init__(self, n: int, least: int, most: int, eta: int = 3) -> None:
        self._rungs = rungs(n, least, most, eta)
        self._level = 0
        self._trials: Sequence[int] = range(n)  # of this rung
        self._n_begun = 0  # of these
        self._done: list[Outcome] = []  # of this rung

    def next_job(self) -> Job | None:
        """Return the next of this rung; None while others of it are under way."""
        n_trials, resource = self._rungs[self._level]
        if self._n_begun == n_trials:
            return None
        self._n_begun += 1
        return Job(self._trials[self._n_begun - 1], resource)

    def tell(self, outcome: Outcome) -> None:
        """Take in a loss; the last one of a rung begins the next."""
        self._done.append(outcome)
        is_last = self._level + 1 == len(self._rungs)
        if len(self._done) < self._rungs[self._level].n_trials or is_last:
            return
        self._level += 1
        n_trials = self._rungs[self._level].n_trials
        best = sorted(self._done, key=lambda done: (done.loss, done.job.trial))[:n_trials]
        self._trials = [done.job.trial for done in best]
        self._n_begun, self._done = 0, []
