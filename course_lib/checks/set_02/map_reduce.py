"""The whole training: shard, map, reduce, update, again."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from course_lib.checks.comparator import Difference, difference
from course_lib.checks.set_02.data import gradient_sum, random_examples
from course_lib.checks.task import ALL_SIZES, Case, Hint, Mistake, Price, Task
from course_lib.shards import split_evenly


class MapReduce(Task):
    """Batch gradient descent from zeros, as one process would do it."""

    name = "map_reduce"
    title = "Train a linear regression on all ranks together, as one process would."
    forbidden = ("course_lib.collectives", "course_lib.schemes.map_reduce")
    rounding_terms = 512
    deadlock_hint = (
        "every rank must take part in every step, also one that has no rows: its partial sum is zeros"
    )

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with one step on a few round numbers."""
        settings = {"n_rows": 10, "n_features": 2, "steps": 1}
        yield Case(4, "10 rows, 1 step", calls=1, settings=settings)
        yield Case(4, "10 rows, 3 steps", calls=1, settings={**settings, "steps": 3})
        yield Case(4, "no step at all", calls=1, settings={**settings, "steps": 0})
        for number, size in enumerate(ALL_SIZES):
            for n_rows, n_features, steps in ((41, 3, 4), (5, 1, 2), (1, 2, 2)):
                yield Case(
                    size, f"{n_rows} rows, {n_features} features, {steps} steps, random",
                    seed=secret + number, rendezvous=n_rows == 5, stagger=n_rows == 1,
                    settings={"n_rows": n_rows, "n_features": n_features, "steps": steps},
                )  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Give the whole table to every rank."""
        n_rows, n_features = case.settings["n_rows"], case.settings["n_features"]
        if case.seed == 0:
            X = np.arange(n_rows * n_features).reshape(n_rows, n_features) % 7.0 - 2
            return X, np.arange(n_rows) ** 2 % 11.0, 0.05, case.settings["steps"]
        rng = case.rng(case.workers, call)  # no rank has this number: the same for all
        X, y = random_examples(rng, n_rows, n_features)
        return X, y, float(rng.uniform(0.01, 0.1)), case.settings["steps"]

    def expected(self, case: Case, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Descend on one process."""
        return [_descend(*arguments[0])] * case.workers

    def scale(self, case: Case, arguments: Sequence[tuple[Any, ...]]) -> Any:
        """Take the largest parameter or target."""
        X, y, *_ = arguments[0]
        return float(max(1, np.abs(X).max()) * np.abs(y).max())

    def price(self, case: Case) -> Price:
        """Send P - 1 partial sums in and P - 1 models out in each step."""
        others, steps = case.workers - 1, case.settings["steps"]
        n_bytes = 8 * (case.settings["n_features"] + 1)
        n_messages = 2 * others * steps
        return Price(n_messages, n_messages * n_bytes, n_messages // 2 * n_bytes)

    def mistakes(self, case: Case, arguments: Sequence[tuple[Any, ...]]) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        X, y, rate, steps = arguments[0]
        size, n_rows = case.workers, len(y)
        parts = split_evenly(n_rows, size)

        def descend(step: Any, n_steps: int = steps) -> list[Any]:
            w = np.zeros(X.shape[1] + 1)
            for _ in range(n_steps):
                w = w - step(w)
            return [w] * size

        def shards(w: Any) -> list[Any]:
            return [gradient_sum(w, X[part], y[part]) for part in parts]

        if all(part.stop > part.start for part in parts):
            yield Mistake(
                "mean-of-means", "this is the mean of the parts' means: a part of 2 rows must count "
                "less than one of 3; send sums, divide once by the number of all rows",
                descend(lambda w: rate * np.mean(
                    [g / (part.stop - part.start) for g, part in zip(shards(w), parts, strict=True)],
                    axis=0)),
            )  # fmt: skip
        yield Mistake(
            "not-divided", "the learning rate goes with the mean: divide by the number of all rows",
            descend(lambda w: rate * gradient_sum(w, X, y)),
        )  # fmt: skip
        yield Mistake(
            "divides-by-ranks", "divide by the number of rows, not of ranks",
            descend(lambda w: rate * gradient_sum(w, X, y) / size),
        )  # fmt: skip
        yield Mistake(
            "divides-by-shard", "divided by the rows of one part: divide by the rows of all",
            descend(lambda w: rate * gradient_sum(w, X, y) / len(y[parts[0]])),
        )  # fmt: skip
        yield Mistake(
            "divides-by-shard", "divided by the rows of one part: divide by the rows of all",
            descend(lambda w: rate * gradient_sum(w, X, y) / max(1, n_rows // size)),
        )  # fmt: skip
        yield Mistake(
            "all-rows-on-each", "every rank sums over all rows, so each row counts P times: "
            "use only this rank's rows",
            descend(lambda w: rate * size * gradient_sum(w, X, y) / n_rows),
        )  # fmt: skip
        yield Mistake(
            "rows-lost", "n_rows // P rows each: the remainder belongs to nobody",
            descend(lambda w: rate * gradient_sum(
                w, X[: n_rows // size * size], y[: n_rows // size * size]) / n_rows),
        )  # fmt: skip
        yield Mistake("wrong-sign", "this climbs: the new model is w minus the step",
                      descend(lambda w: -rate * gradient_sum(w, X, y) / n_rows))  # fmt: skip
        yield Mistake("one-step-more", "one step too many: range(steps)",
                      descend(lambda w: rate * gradient_sum(w, X, y) / n_rows, steps + 1))  # fmt: skip
        yield Mistake("one-step-less", "one step is missing: range(steps)",
                      descend(lambda w: rate * gradient_sum(w, X, y) / n_rows, steps - 1))  # fmt: skip
        yield Mistake("own-rows-only", "every rank trains a model of its own: nothing is combined",
                      [_descend(X[part], y[part], rate, steps, n_rows) for part in parts]
                      )  # fmt: skip

    def explain(
        self, case: Case, arguments: Sequence[tuple[Any, ...]], got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Find the rows that are missing or counted twice, after one step from zeros."""
        X, y, rate, steps = arguments[0]
        if steps != 1 or wrong.rank is None or "should be" not in wrong.says:
            return _with_steps(case, self, arguments, wrong)
        for rank, part in enumerate(split_evenly(len(y), case.workers)):
            share = rate / len(y) * gradient_sum(np.zeros(X.shape[1] + 1), X[part], y[part])
            right = self.expected(case, arguments)[0]
            for sign, fate in ((1, "are missing"), (-1, "were added twice")):
                if difference(right + sign * share, got[wrong.rank], n_terms=self.rounding_terms,
                              scale=self.scale(case, arguments)) is None:  # fmt: skip
                    return Hint("wrong-sum", f"the rows of rank {rank} {fate}")
        return None


def _with_steps(
    case: Case, task: Task, arguments: Sequence[tuple[Any, ...]], wrong: Difference
) -> Hint | None:
    if case.seed == 0 and case.settings["steps"] > 1 and "should be" in wrong.says:
        return Hint("later-steps", "one step is right, more are not: is the model that the next "
                    "step starts from the new one, on every rank?")  # fmt: skip
    return None


def _descend(X: Any, y: Any, rate: float, steps: int, n_rows: int | None = None) -> Any:
    w = np.zeros(X.shape[1] + 1)
    for _ in range(steps):
        w = w - rate * gradient_sum(w, X, y) / (n_rows or len(y))
    return w


TASK = MapReduce()
