"""One step of gradient descent."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from course_lib.checks.comparator import Difference
from course_lib.checks.lecture_02.data import design, gradient_sum, random_examples
from course_lib.checks.task import Case, Given, Hint, LocalTask, Mistake


class GradientStep(LocalTask):
    """``w - learning_rate * (mean of error * x)``."""

    name = "gradient_step"
    title = "Take one step of gradient descent."
    takes = ("w", "X", "y", "learning_rate")
    enough = "NumPy is enough"
    forbidden = (
        "course_lib.collectives", "course_lib.models", "course_lib.schemes", "course_lib.training",
    )  # fmt: skip
    rounding_terms = 64

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with five rows that can be computed by hand."""
        yield Case(1, "5 rows, 1 feature", alone=True, settings={"n_rows": 5, "n_features": 1})
        for number, (n_rows, n_features) in enumerate([(5, 3), (1, 1), (40, 17), (3, 1)]):
            yield Case(
                1, f"{n_rows} rows, {n_features} features", seed=secret + number,
                alone=True, settings={"n_rows": n_rows, "n_features": n_features},
            )  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Make w, X, y and a learning rate."""
        n_rows, n_features = case.settings["n_rows"], case.settings["n_features"]
        if case.seed == 0:
            X, y = np.array([[3.0, 5, 2, 6, 4]]).T, np.array([4.0, 10, 3, 9, 7])
            return np.array([1.0, 2.0]), X, y, 0.25
        rng = case.rng(rank, call)
        w = rng.normal(size=n_features + 1)
        return w, *random_examples(rng, n_rows, n_features), float(rng.uniform(0.1, 1.9))

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Step once."""
        w, X, y, rate = arguments[0]
        return [w - rate * gradient_sum(w, X, y) / len(y)]

    def scale(self, case: Case, arguments: Given) -> Any:
        """Take the largest numbers on the way."""
        w, X, y, rate = arguments[0]
        errors = np.abs(design(X)) @ np.abs(w) + np.abs(y)
        return float(np.abs(w).max() + rate * np.abs(design(X)).max() * errors.max())

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        w, X, y, rate = arguments[0]
        rows = design(X)
        right, error = gradient_sum(w, X, y) / len(y), rows @ w - y
        best = np.linalg.lstsq(rows, y, rcond=None)[0]
        ones_last = np.column_stack([X, np.ones(len(X))])
        for hint_id, text, value in (
            ("climbs", "this goes uphill: subtract the gradient, and mind the sign of the error",
             w + rate * right),
            ("sum", "this is the sum over the rows: with the mean, the step does not depend on how "
             "many there are", w - rate * right * len(y)),
            ("no-learning-rate", "multiply the gradient by the learning rate", w - right),
            ("gradient-returned", "this is the gradient: return the new w", right),
            ("gradient-returned", "this is the step alone: subtract it from w", rate * right),
            ("gradient-returned", "this is the step alone: add it to w", -rate * right),
            ("factor-2", "twice the step: the loss is half the mean squared error",
             w - 2 * rate * right),
            ("no-intercept", "the intercept moves as well: its gradient is the mean of the errors",
             w - rate * np.concatenate([[0.0], right[1:]])),
            ("no-intercept", "w[0] is the intercept: it belongs to every prediction",
             w - rate * rows.T @ (X @ w[1:] - y) / len(y)),
            ("not-all-divided", "the mean is over the rows for every parameter: divide the sums of "
             "the features, too", w - rate * np.concatenate([right[:1], right[1:] * len(y)])),
            ("not-all-divided", "the intercept's gradient is a mean, too: the mean of the errors",
             w - rate * np.concatenate([right[:1] * len(y), right[1:]])),
            ("one-for-all-features", "each feature has a gradient of its own: take the mean over "
             "the rows only, X.T @ error / len(y)",
             w - rate * np.concatenate([right[:1], np.full(len(w) - 1, right[1:].mean())])),
            ("one-for-all-features", "each feature has a gradient of its own: add up the rows "
             "only, X.T @ error / len(y)",
             w - rate * np.concatenate([right[:1], np.full(len(w) - 1, (X.T @ error).mean())])),
            *(("intercept-last", "w[0] is the intercept: the column of ones stands before X",
               w - rate * np.roll(ones_last.T @ (ones_last @ order - y) / len(y), shift))
              for order, shift in ((w, 0), (np.roll(w, -1), 0), (w, 1))),
            ("one-by-one", "this is one step a row: take one with the mean over all rows",
             _row_by_row(w, X, y, rate)),
            ("divides-by-parameters", "the mean is over the rows, not over the parameters",
             w - rate * right * len(y) / len(w)),
            ("sample", "the mean over m rows divides by m, not by m - 1",
             w - rate * right * len(y) / max(1, len(y) - 1)),
            ("new-intercept", "the intercept is right, and the features' slopes were taken at the "
             "new one: take the whole gradient at one and the same w",
             _intercept_first(w, X, y, rate)),
            ("divides-by-size", "X.size is rows times features: divide by the rows only",
             w - rate * right * len(y) / X.size),
            *(("one-for-all", "all parameters move by the same number: the mean is over the rows "
               "only, axis=0", w - rate * value)
              for value in ((rows * error[:, None]).mean(), (X * error[:, None]).mean(),
                            error.mean())),
            *(("solved", "this goes for the best w: one step against the gradient is asked for",
               value) for value in (best, w + rate * (best - w))),
            ("misplaced-parenthesis", "the error is h(x) - y: here y is subtracted from X",
             w - rate * rows.T @ (w[0] + (X - y[:, None]) @ w[1:]) / len(y)),
            ("not-moved", "w is where it was: where is the step?", w),
            ("decays", "multiply the gradient by the learning rate, not w", rate * (w - right)),
        ):  # fmt: skip
            yield Mistake(hint_id, text, [value])

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice a step without its intercept."""
        if isinstance(got[0], np.ndarray) and got[0].shape == arguments[0][1].shape[1:]:
            return Hint("no-intercept", "d features and the intercept: d + 1 numbers")
        return None


def _intercept_first(w: Any, X: Any, y: Any, rate: float) -> Any:
    first = w[0] - rate * (w[0] + X @ w[1:] - y).mean()
    return np.concatenate([[first], w[1:] - rate * X.T @ (first + X @ w[1:] - y) / len(y)])


def _row_by_row(w: Any, X: Any, y: Any, rate: float) -> Any:
    for row in range(len(y)):
        w = w - rate * gradient_sum(w, X[row : row + 1], y[row : row + 1])
    return w


TASK = GradientStep()
