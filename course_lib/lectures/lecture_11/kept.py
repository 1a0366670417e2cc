"""What the race has shown so far: kept results, each scheme at its own best rate and momentum."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from course_lib.lectures.lecture_11.cases import Case, Rules, tuned_as

__all__ = ["NAMES", "RESULTS", "Best", "best", "grid", "rules"]

RESULTS = Path(__file__).parents[3] / "benchmarks" / "quarrel.json"
"""It lies beside the package, in the course's folder; ``python -m benchmarks.quarrel`` makes it."""

NAMES = {
    "serial": "one worker",
    "data_parallel": "all-reduce",
    "parameter_server": "server",
    "backup_workers": "all but one",
    "bounded_staleness": "bounded",
    "downpour": "Downpour",
    "local_sgd": "local SGD",
    "compressed": "top-k",
}
"""What a scheme is called in pictures and tables."""


@dataclass(frozen=True)
class Best:
    """A scheme at its best rate and momentum, on ten seeds.

    Attributes
    ----------
    case : Case
        Who trains, and where.
    rate, momentum : float
        The best of a grid, which was searched on five other seeds.
    seeds : tuple of dict
        What was found on each seed, see ``racing.trained``.
    """

    case: Case
    rate: float
    momentum: float
    seeds: tuple[dict[str, Any], ...]

    @property
    def n_there(self) -> int:
        """On how many seeds the target was reached."""
        return sum("seconds" in seed for seed in self.seeds)

    def median(self, what: str) -> float:
        """Take the median over the seeds that got to the target.

        Parameters
        ----------
        what : {"seconds", "updates", "epochs", "bytes"}
            Of which number, until the target.

        Returns
        -------
        float
            Infinite if fewer than half of the seeds got there.
        """
        there = [seed[what] for seed in self.seeds if "seconds" in seed]
        return float(median(there)) if 2 * len(there) > len(self.seeds) else float("inf")


def best(scheme: str, workers: int = 4, straggler: float = 1.0, every: int = 8, sent: int = 24,
         is_far: bool = False) -> Best:  # fmt: skip
    """Look up how a scheme did at its own best rate and momentum.

    Parameters
    ----------
    scheme : str
        One of ``NAMES``.
    workers : {4, 8}, default: 4
        How many; ``"serial"`` has one.
    straggler : {1.0, 3.0, 10.0}, default: 1.0
        How many times longer the last one computes; of ``"downpour"`` with four workers 1.5,
        2.0, 2.5, 5.0 and 7.0, too.
    every : int, default: 8
        H, if it is ``"local_sgd"``.
    sent : {24, 241}, default: 24
        How many of 2,410 numbers are sent, if it is ``"compressed"``.
    is_far : bool, default: False
        Whether the workers are on two sites.

    Returns
    -------
    Best
        Of ten seeds.

    Raises
    ------
    ValueError
        If that was not measured.
    """
    if scheme == "serial":
        workers, straggler = 1, 1.0
    case = Case(
        scheme, workers, rules().batch_of(scheme, workers), float(straggler),
        every if scheme == "local_sgd" else 0, is_far, sent if scheme == "compressed" else 0,
    )  # fmt: skip
    for entry in _results()["runs"]:
        if Case(**entry["case"]) == case:
            return Best(case, entry["rate"], entry["momentum"], tuple(entry["seeds"]))
    raise ValueError(f"scheme and its options must be among what was measured, got {case}")


def grid(
    scheme: str, workers: int = 4, straggler: float = 1.0
) -> dict[tuple[float, float], dict[str, Any]]:
    """Look up what was found at each rate and momentum: the middle one of five seeds.

    Parameters
    ----------
    scheme : str
        One of ``NAMES``. Synchronous gradients are those of one process with the whole batch: so
        the two schemes that wait for all share a grid, whose seconds are not theirs.
    workers : {4, 8}, default: 4
        How many.
    straggler : {1.0, 3.0, 10.0}, default: 1.0
        How many times longer the last one computes. Those whose updates it does not alter were
        searched without one.

    Returns
    -------
    dict of (float, float) to dict
        By rate and momentum; see ``racing.trained``. ``n_there`` says how many seeds got there;
        where most did not, fewer were tried.
    """
    case = tuned_as(best(scheme, workers, straggler).case)
    (found,) = (one for one in _results()["grids"] if Case(**one["case"]) == case)
    return {(point["rate"], point["momentum"]): point for point in found["points"]}


def rules() -> Rules:
    """Look up the rules of the race.

    Returns
    -------
    Rules
        The same for all.
    """
    return Rules(**_results()["rules"])


@cache
def _results() -> dict[str, Any]:
    if not RESULTS.exists():
        raise FileNotFoundError(
            f"the results of the race must lie in {RESULTS}, in the course's folder; found none: "
            "make them with python -m benchmarks.quarrel, or run the lecture in that folder"
        )
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found
