"""The mean over all rows, from the means of unequal parts."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from course_lib.checks.comparator import Difference
from course_lib.checks.task import Case, Given, Hint, LocalTask, Mistake


class MeanOfShards(LocalTask):
    """Sum of ``n_k`` times the mean of part k, over the sum of ``n_k``."""

    name = "mean_of_shards"
    title = "Find the bug: combine the means of unequal parts into the mean of all rows."
    takes = ("means", "n_rows")
    enough = "NumPy is enough"
    rounding_terms = 32

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with 1 row against 3."""
        yield Case(1, "1 row with mean [8, 0], 3 rows with mean [0, 4]", calls=1,
                   alone=True, settings={"n_parts": 2})  # fmt: skip
        for number, n_parts in enumerate((4, 1, 2, 3, 5, 7, 8)):
            yield Case(1, f"{n_parts} parts of unequal size", seed=secret + number,
                       alone=True,
                       settings={"n_parts": n_parts, "n_features": 1 + number})  # fmt: skip
        yield Case(1, "4 parts of 100 rows", seed=secret,
                   alone=True, settings={"n_parts": 4, "n_features": 2, "equal": 100})  # fmt: skip
        yield Case(1, "3 parts, one without rows, whose mean is NaN", seed=secret,
                   alone=True, settings={"n_parts": 3, "n_features": 2, "empty": 1})  # fmt: skip
        yield Case(1, "3 parts with rows; the first mean of one of them is NaN", seed=secret,
                   alone=True, settings={"n_parts": 3, "n_features": 2, "diverged": 2})  # fmt: skip
        for n_features in (2, 1):
            yield Case(1, "3 parts with rows; one of them has only NaN", seed=secret, alone=True,
                       settings={"n_parts": 3, "n_features": n_features, "diverged": 2,
                                 "of_it": slice(None)})  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Make the means (a row a part) and the numbers of rows."""
        if case.seed == 0:
            return np.array([[8.0, 0.0], [0.0, 4.0]]), np.array([1, 3])
        n_parts, rng = case.settings["n_parts"], case.rng(rank, call)
        means = rng.normal(size=(n_parts, case.settings["n_features"])) + 1
        n_rows = rng.permutation(np.arange(1, 3 * n_parts + 1, 3)) + 2
        n_rows[:] = case.settings.get("equal", n_rows)
        if "empty" in case.settings:
            n_rows[case.settings["empty"]], means[case.settings["empty"]] = 0, np.nan
        if "diverged" in case.settings:
            means[case.settings["diverged"], case.settings.get("of_it", 0)] = np.nan
        return means, n_rows

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Weight the means with the rows behind them."""
        means, n_rows = arguments[0]
        held = n_rows > 0
        return [n_rows[held] @ means[held] / n_rows.sum()]

    def scale(self, case: Case, arguments: Given) -> Any:
        """Take the largest mean."""
        return float(np.nanmax(np.abs(arguments[0][0])))

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        means, n_rows = arguments[0]
        weighted, total, n_parts = n_rows @ means, n_rows.sum(), len(n_rows)
        yield Mistake(
            "mean-of-means",
            "every part counts the same here, but a part of 1 row must count less than one of 3: "
            "weight each mean with its number of rows",
            [means.mean(axis=0)],
        )
        yield Mistake("divides-by-parts", "divide by the number of rows, not of parts",
                      [weighted / n_parts])  # fmt: skip
        yield Mistake("not-divided", "this is the sum over all rows: divide by their number",
                      [weighted])  # fmt: skip
        yield Mistake("sum-of-means", "the means were added without weights", [means.sum(axis=0)])
        yield Mistake("inverse-weights", "the weights are upside down: more rows, more weight",
                      [(means / np.maximum(n_rows, 1)[:, None]).sum(axis=0)
                       / (1 / np.maximum(n_rows, 1)).sum()])  # fmt: skip
        yield Mistake("divides-twice", "divided twice: the weights n / sum(n) add up to 1 already",
                      [weighted / total / n_parts])  # fmt: skip
        yield Mistake("largest-part", "the largest part alone does not speak for all",
                      [means[int(n_rows.argmax())]])  # fmt: skip
        yield Mistake("one-number", "one mean for each feature, not one for all: mind the axis",
                      [np.full(means.shape[1], weighted.sum() / total)])  # fmt: skip

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice NaN from a part without rows, and NaN that was swept away."""
        if "diverged" in case.settings:
            return Hint("hides-nan", "this part has rows, and its mean is NaN: its worker has "
                        "diverged, and the result must show it: leave out by n_rows")  # fmt: skip
        if "empty" in case.settings and isinstance(got[0], np.ndarray):
            return Hint("empty-part", "0 times NaN is NaN: leave out the parts that have no rows")
        return None


TASK = MeanOfShards()
