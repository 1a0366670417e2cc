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
        self._jobs = [Job(trial, most) for trial in reversed(range(n))]

    def next_job(self) -> Job | None:
        """Return the next trial."""
        return self._jobs.pop() if self._jobs else None

    def tell(self, outcome: Outcome) -> None:
        """Take in a loss, which changes nothing."""
