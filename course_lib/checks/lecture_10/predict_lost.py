"""How much is lost if all load at once, then all store: predicted, and counted over all draws."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import comb
from typing import Any

from course_lib.checks.prediction import Alternative, PredictTask
from course_lib.checks.task import Case, Given

__all__ = ["TASK"]


class PredictLost(PredictTask):
    """Stores, those that are lost at most, those that are lost in the mean."""

    name = "predict_lost"
    title = "Predict how many stores are lost, then count them."
    questions = ("n_workers", "n_columns", "n_touched")
    other_number = "draw 2 workers and 3 columns, each worker with 1 of them, and count {name}"

    def tried(self) -> Sequence[tuple[int, ...]]:
        """Begin with four workers."""
        return (4, 7, 2), (2, 6, 3), (1, 5, 2), (3, 5, 1), (3, 6, 4), (2, 5, 4)

    def scale(self, case: Case, arguments: Given) -> float:
        """Take a share as a part of 1: one worker loses 0, which rounding misses by a bit."""
        return 1.0

    def measure(self, *numbers: int) -> dict[str, Any]:
        """Let each worker have any columns, in all ways; count what is stored and not kept."""
        workers, columns, touched = numbers
        kept = Fraction(_kept(workers, columns, touched), comb(columns, touched) ** workers)
        return {
            "stores": workers * touched,
            "most_lost": (workers - 1) * touched,
            "lost_share": float(1 - kept / (workers * touched)),
        }

    def alternatives(self, *numbers: int) -> Mapping[str, Sequence[Alternative]]:
        """Know the usual mistakes."""
        P, d, k = numbers
        chance = 1 - (1 - k / d) ** P
        right = 1 - d * chance / (P * k)
        return {
            "stores": [
                ("stores-of-all", "these are one worker's: all store", k),
                ("stores-are-touched", "only what an update changes is stored", P * d),
                ("stores-are-touched", "only what an update changes is stored", d),
                ("not-distinct", "each store counts, also where two are of one column", d * chance),
                ("steps", "a worker stores each parameter that it changes", P),
            ],
            "most_lost": [
                ("one-stays", "of the stores of one column the last one stays", P * k),
                ("most-of-all", "if all have the same columns, all but one worker's are lost", k),
                ("most-of-all", "if all have the same columns, all but one worker's are lost",
                 P - 1),
                ("mean-for-most", "this is the mean: at most is asked for", right * P * k),
            ],
            "lost_share": [
                ("one-stays", "where two meet only one of the two stores is lost", k / d),
                ("one-stays", "where others meet mine, one of us stays",
                 1 - (1 - k / d) ** (P - 1)),
                ("dense", "this is the dense case: not every column is touched by all", 1 - 1 / P),
                ("share-not-number", "a share is asked for: divide by all stores", right * P * k),
                ("kept", "this is what is kept", 1 - right),
                ("chance", "this is the chance that a column is touched at all", chance),
                ("chance", "this is the chance that a column is touched by nobody", 1 - chance),
                ("first-order", "(P - 1) k / (2 d) is near it where k is much less than d",
                 (P - 1) * k / (2 * d)),
                ("of-columns", "of all stores, P k, not of all columns", right * P * k / d),
                ("percent", "a part of 1 is asked for, not percent", 100 * right),
            ],
        }  # fmt: skip


@cache
def _kept(workers: int, columns: int, touched: int) -> int:
    """Add up the distinct columns over all ways in which the workers may have theirs."""
    ways: dict[frozenset[int], int] = {frozenset(): 1}
    draws = [frozenset(draw) for draw in combinations(range(columns), touched)]
    for _ in range(workers):
        after: dict[frozenset[int], int] = {}
        for seen, times in ways.items():
            for draw in draws:
                after[seen | draw] = after.get(seen | draw, 0) + times
        ways = after
    return sum(len(seen) * times for seen, times in ways.items())


TASK = PredictLost()
