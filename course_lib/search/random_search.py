"""Random search: draw trials, and train each of them to the end."""

from course_lib.search.job import Job, Outcome
from course_lib.search.rungs import rungs

__all__ = ["RandomSearch"]


class RandomSearch:
    """Train every trial as long as the longest; no job waits for another.

    Parameters
    ----------
    n : int
        How many trials.
    most : int
        What each is given.

    Notes
    -----
    Cost: n jobs, n R of the resource.

    References
    ----------
    J. Bergstra and Y. Bengio, "Random search for hyper-parameter optimization", Journal of Machine
    Learning Research 13, 2012.
    """

    def __init__(self, n: int, most: int) -> None:
        rungs(n, most, most)  # refuses numbers that are none
        self._n, self._most = n, most
        self._n_begun = 0

    def next_job(self) -> Job | None:
        """Return the next trial."""
        if self._n_begun == self._n:
            return None
        self._n_begun += 1
        return Job(self._n_begun - 1, self._most)

    def tell(self, outcome: Outcome) -> None:
        """Take in a loss, which changes nothing."""
