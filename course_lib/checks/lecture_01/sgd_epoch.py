"""An epoch of mini-batch SGD: as many steps as batches, each with the mean of its own batch."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from course_lib.checks.comparator import Difference
from course_lib.checks.lecture_02.data import design, gradient_sum, random_examples
from course_lib.checks.task import Case, Given, Hint, LocalTask, Mistake

Batches = list[Any]
Step = Callable[[Any, Any, Any, Any], Any]
"""The gradient of w over a batch's rows of X and y; the last argument is the batch size asked."""


class SgdEpoch(LocalTask):
    """Steps along an order of the examples that is given, so that the result is known."""

    name = "sgd_epoch"
    title = "Find the bugs: an epoch of SGD whose steps do not depend on the batch size."
    takes = ("w", "order", "X", "y", "batch_size", "learning_rate")
    enough = "NumPy is enough"
    forbidden = (
        "course_lib.collectives", "course_lib.models", "course_lib.schemes", "course_lib.training",
    )  # fmt: skip
    rounding_terms = 512

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with one batch of one, then of several, then with a rest."""
        tried = [(1, 1, 1), (4, 4, 1), (4, 2, 1), (5, 2, 1)]
        tried += [(20, 20, 3), (24, 6, 2), (23, 5, 4), (9, 100, 2), (7, 1, 3), (11, 10, 1)]
        for number, (n_rows, batch_size, n_features) in enumerate(tried):
            yield Case(
                1, f"{n_rows} rows, batches of {batch_size}", alone=True,
                seed=0 if number < 4 else secret + number,
                settings={"n_rows": n_rows, "batch_size": batch_size, "n_features": n_features},
            )  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Make w, an order, a table and its targets."""
        n_rows, n_features = case.settings["n_rows"], case.settings["n_features"]
        if case.seed == 0:
            X, y = np.arange(1.0, n_rows + 1)[:, None], np.arange(n_rows) * 2.0 + 5
            return np.zeros(2), np.arange(n_rows)[::-1].copy(), X, y, *self._numbers(case, 0.0625)
        rng = case.rng(rank, call)
        X, y = random_examples(rng, n_rows, n_features)
        w, rate = rng.normal(size=n_features + 1), float(rng.uniform(0.02, 0.1))
        return w, rng.permutation(n_rows), X, y, *self._numbers(case, rate)

    def _numbers(self, case: Case, rate: float) -> tuple[int, float]:
        return case.settings["batch_size"], rate

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Take the steps."""
        w, order, X, y, size, rate = arguments[0]
        return [_walk(w, order, X, y, size, rate, _mean)]

    def scale(self, case: Case, arguments: Given) -> Any:
        """Take the largest parameter or target."""
        w, _, X, y, *_ = arguments[0]
        return float(np.abs(w).max() + np.abs(design(X)).max() * np.abs(y).max())

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        w, order, X, y, size, rate = arguments[0]
        whole = order[: len(order) // size * size]
        for hint_id, text, value in (
            ("sum", "the steps grow with the batch: divide the sum by the number of its rows",
             _walk(w, order, X, y, size, rate, _sum)),
            ("sum-and-rest", "the steps grow with the batch, and the last, smaller batch is left "
             "out", _walk(w, whole, X, y, size, rate, _sum)),
            ("rest-lost", "the last batch, with the rows that are left, was not used",
             _walk(w, whole, X, y, size, rate, _mean)),
            ("divides-by-batch-size", "the last batch may have fewer rows than batch_size: divide "
             "by those it has", _walk(w, order, X, y, size, rate, _by_size)),
            ("divides-by-all", "divide by the rows of the batch, not by those of the table",
             _walk(w, order, X, y, size, rate, lambda *given: _sum(*given) / len(y))),
            ("not-all-divided", "the intercept is right, and the slopes are too long: divide "
             "X.T @ error by the rows of the batch, too",
             _walk(w, order, X, y, size, rate, lambda *given: np.concatenate(
                 [_mean(*given)[:1], _sum(*given)[1:]]))),
            ("order-ignored", "take the rows in the order that is given: order[start:stop]",
             _walk(w, np.arange(len(y)), X, y, size, rate, _mean)),
            ("old-gradients", "all gradients are taken at the first w: each step starts where the "
             "one before ended", _all_at_once(w, order, X, y, size, rate)),
            ("one-step", "this is one step with all rows: take one for each batch",
             _walk(w, order, X, y, len(y), rate, _mean)),
            ("one-step", "this is the first batch alone: go on with the others",
             _walk(w, order[:size], X, y, size, rate, _mean)),
            ("one-by-one", "this is one step a row: take batch_size rows at once",
             _walk(w, order, X, y, 1, rate, _mean)),
            ("climbs", "this goes uphill: subtract the gradient",
             _walk(w, order, X, y, size, -rate, _mean)),
            ("targets-apart", "X is taken in the new order and y is not: each row keeps its target",
             _walk(w, np.arange(len(y)), X[order], y, size, rate, _mean)),
            ("not-moved", "w is where it was", w),
        ):  # fmt: skip
            yield Mistake(hint_id, text, [value])

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Say what is special about the first case that fails."""
        n_rows, size = case.settings["n_rows"], case.settings["batch_size"]
        if case.seed == 0 and n_rows % size and "should be" in wrong.says:
            return Hint(
                "last-batch", "equal batches are right; look at the last one, with the rest"
            )
        return None


def _walk(w: Any, order: Any, X: Any, y: Any, size: int, rate: float, gradient: Step) -> Any:
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        w = w - rate * gradient(w, X[rows], y[rows], size)
    return w


def _all_at_once(w: Any, order: Any, X: Any, y: Any, size: int, rate: float) -> Any:
    parts = [order[start : start + size] for start in range(0, len(order), size)]
    return w - rate * np.sum([_mean(w, X[rows], y[rows], size) for rows in parts], axis=0)


def _mean(w: Any, X: Any, y: Any, _: int) -> Any:
    return gradient_sum(w, X, y) / len(y)


def _sum(w: Any, X: Any, y: Any, _: int) -> Any:
    return gradient_sum(w, X, y)


def _by_size(w: Any, X: Any, y: Any, size: int) -> Any:
    return gradient_sum(w, X, y) / size


TASK = SgdEpoch()
