"""Map: one worker's share of the gradient."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from course_lib.checks.comparator import Difference
from course_lib.checks.lecture_02.data import design, gradient_sum, random_examples
from course_lib.checks.task import Case, Given, Hint, LocalTask, Mistake


class PartialSums(LocalTask):
    """The sum of ``error * x`` over the worker's own rows."""

    name = "partial_sums"
    title = "Sum the gradient over your own rows."
    takes = ("w", "X_local", "y_local")
    enough = "NumPy is enough"
    forbidden = ("course_lib.collectives", "course_lib.models", "course_lib.schemes")
    rounding_terms = 64

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with two rows that can be computed by hand."""
        yield Case(
            1, "2 rows, 1 feature", calls=1, alone=True, settings={"n_rows": 2, "n_features": 1}
        )
        for number, (n_rows, n_features) in enumerate([(5, 3), (1, 1), (0, 2), (40, 10), (3, 1)]):
            yield Case(
                1, f"{n_rows} rows, {n_features} features", seed=secret + number,
                alone=True, settings={"n_rows": n_rows, "n_features": n_features},
            )  # fmt: skip
        yield Case(
            1, "4 rows, a slice of a larger table", seed=secret,
            alone=True, settings={"n_rows": 4, "n_features": 2, "strided": True},
        )  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Make w, X and y."""
        n_rows, n_features = case.settings["n_rows"], case.settings["n_features"]
        if case.seed == 0:
            return np.array([1.0, 2.0]), np.array([[3.0], [5.0]]), np.array([4.0, 10.0])
        rng = case.rng(rank, call)
        w = rng.normal(size=n_features + 1)
        X, y = random_examples(rng, 2 * n_rows, n_features)
        return (w, X[::2], y[::2]) if "strided" in case.settings else (w, X[:n_rows], y[:n_rows])

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Multiply the errors with the rows."""
        return [gradient_sum(*arguments[0])]

    def scale(self, case: Case, arguments: Given) -> Any:
        """Take the largest numbers on the way."""
        w, X, y = arguments[0]
        largest = np.abs(design(X)) @ np.abs(w) + np.abs(y)
        return float(np.abs(design(X)).max(initial=0) * largest.sum())

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        w, X, y = arguments[0]
        right, rows = gradient_sum(w, X, y), design(X)
        predicted = rows @ w
        no_intercept = np.concatenate([[0.0], right[1:]])
        ones_last = np.column_stack([X, np.ones(len(X))])
        error_last = ones_last @ w - y
        for hint_id, text, value in (
            ("misplaced-parenthesis", "this is h(x - y) x, as the misprint has it: predict first, "
             "then subtract y", rows.T @ (w[0] + (X - y[:, None]) @ w[1:])),
            ("x-on-y-only", "this is h(x) - y x: the whole error, h(x) - y, is multiplied by x",
             predicted.sum() - rows.T @ y),
            ("mean", "this is the mean over the rows; the combiner needs the sum: parts may "
             "differ in size", right / max(1, len(y))),
            ("sign", "the sign is turned round: the error is prediction minus y", -right),
            ("factor-2", "twice the gradient: the loss is half the squared error", 2 * right),
            ("no-prediction", "w has no effect: the error is prediction minus y", -rows.T @ y),
            ("no-target", "y has no effect: the error is prediction minus y", rows.T @ predicted),
            ("no-intercept", "w[0] is the intercept: it belongs to every prediction",
             rows.T @ (X @ w[1:] - y)),
            ("no-intercept", "the intercept has one too, the sum of the errors", no_intercept),
            *(("intercept-last", "the intercept comes first, in w and in the gradient: the column "
               "of ones stands before X_local", value)
              for value in (np.roll(right, -1), ones_last.T @ error_last, rows.T @ error_last)),
            *(("whole-numbers", "the fractions are gone: an array of whole numbers cuts them off; "
               "np.zeros(d + 1) has float64", value)
              for value in (np.trunc(right), _cut_off_each_time(rows, predicted - y))),
            ("intercept-mean", "the intercept's part is a sum as well, error.sum(), not a mean",
             np.concatenate([right[:1] / max(1, len(y)), right[1:]])),
            ("loss", "these are squared errors; the gradient has error times x",
             rows.T @ (predicted - y) ** 2),
        ):  # fmt: skip
            yield Mistake(hint_id, text, [value])

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice a gradient without its intercept, and NaN from no rows."""
        X = arguments[0][1]
        value = got[0]
        if not isinstance(value, np.ndarray):
            return None
        if value.shape == (X.shape[1],):
            return Hint("no-intercept", "d features and the intercept: d + 1 numbers")
        if len(X) == 0:
            return Hint("no-rows", "a worker may have no rows: its sum is zeros of shape (d + 1,)")
        return None

    def explain_mishap(self, case: Case, kind: str, text: str) -> Hint | None:
        """Notice a table that has become a list of numbers."""
        if "insert(" in text.rstrip().rpartition("\n")[2] or (
            "insert(" in text and "matmul" in text
        ):
            return Hint("insert-flattens", "np.insert without axis=1 makes one long row of the "
                        "table: np.insert(X_local, 0, 1, axis=1)")  # fmt: skip
        return None


def _cut_off_each_time(rows: Any, error: Any) -> Any:
    total = np.zeros(rows.shape[1])
    for row, one in zip(rows, error, strict=True):
        total = np.trunc(total + one * row)
    return total


TASK = PartialSums()
