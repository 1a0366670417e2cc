"""The whole training: shard, map, reduce, update, again."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from course_lib.checks.comparator import Difference, difference
from course_lib.checks.lecture_02.data import gradient_sum, random_examples
from course_lib.checks.lecture_02.routes import all_to_all
from course_lib.checks.task import ALL_SIZES, Case, Given, Hint, Mistake, Price, Task
from course_lib.trace.trace import Trace
from course_lib.training.shards import split_evenly

Gradient = Callable[[Any, Any, Any], Any]
"""A gradient of w, X and y, right or wrong."""

_TWICE = "divided twice, by each part's rows and by all rows: send sums, divide by all rows once"
_BY_ALL_ROWS = (
    "divided by the rows of one part, so that the step is about P times too long: divide by all "
    "rows, learning_rate / len(y) with the whole y"
)


class MapReduce(Task):
    """Batch gradient descent from zeros, as one process would do it."""

    name = "map_reduce"
    title = "Train a linear regression on all ranks together, as one process would."
    forbidden = ("course_lib.collectives", "course_lib.schemes.map_reduce")
    takes = ("X", "y", "learning_rate", "steps")
    layout, roles = "star", {0: "combiner"}
    rounding_terms = 512
    deadlock_hint = "every rank takes part in every step, even without rows: its sum is zeros then"

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with one step on a few round numbers."""
        settings = {"n_rows": 10, "n_features": 2, "steps": 1}
        yield Case(4, "10 rows, 1 step", calls=1, settings=settings)
        yield Case(4, "10 rows, 3 steps", calls=1, settings={**settings, "steps": 3})
        yield Case(4, "no step at all", calls=1, settings={**settings, "steps": 0})
        yield Case(
            4, "10 rows, 1 step; the y of rank r are 11**r larger, so that w[0] tells who has used "
            "how many", calls=1, settings={**settings, "told": True},
        )  # fmt: skip
        yield Case(4, "10 rows, 100 steps, of which the last change little", calls=1,
                   settings={**settings, "steps": 100})  # fmt: skip
        yield Case(4, "10 rows, 4 steps at a rate of 1e-20", calls=1,
                   settings={**settings, "steps": 4, "rate": 1e-20})  # fmt: skip
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
            mark = 11.0**rank if "told" in case.settings else 0.0
            rate = case.settings.get("rate", 0.05)
            return X, np.arange(n_rows) ** 2 % 11.0 + mark, rate, case.settings["steps"]
        rng = case.rng(case.workers, call)  # no rank has this number: the same for all
        X, y = random_examples(rng, n_rows, n_features)
        return X, y, float(rng.uniform(0.01, 0.1)), case.settings["steps"]

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Descend on one process."""
        return [_descend(*arguments[0])] * case.workers

    def compare(self, case: Case, arguments: Given, got: Sequence[Any]) -> Difference | None:
        """Compare with one process; where the data tell whose rows are in it, look at these."""
        if "told" not in case.settings:
            return super().compare(case, arguments, got)
        n_rows, shape = len(arguments[0][1]), (arguments[0][0].shape[1] + 1,)
        if not _is_model(got[0], shape):
            return None
        used = _rows_used(arguments, got[0])
        if used is not None and max(used) <= n_rows // 2:
            return None
        says = "the sums of the ranks are not each over rows of its own"
        if used is not None:
            says = f"by rank, {', '.join(map(str, used))} of {n_rows} rows were used"
        return Difference(says, "each rank its share", says, "the work", None)

    def scale(self, case: Case, arguments: Given) -> Any:
        """Take the largest parameter or target; at a tiny rate, the longest way from zeros."""
        X, y, rate, steps = arguments[0]
        largest = float(max(1, np.abs(X).max()) * np.abs(y).max())
        return rate * steps * largest if "rate" in case.settings else largest

    def price(self, case: Case) -> Price:
        """Send P - 1 partial sums in and P - 1 models out in each step."""
        others, steps = case.workers - 1, case.settings["steps"]
        n_bytes = 8 * (case.settings["n_features"] + 1)
        n_messages = 2 * others * steps
        return Price(n_messages, n_messages * n_bytes, n_messages // 2 * n_bytes)

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        X, y, rate, steps = arguments[0]
        size = case.workers
        if "told" in case.settings or "rate" in case.settings:
            return
        if steps > 1:
            yield Mistake("stale", "the gradient is that of the first w in every step, as if it "
                          "were computed once, before the loop: compute it in the loop, with the "
                          "new w", [_descend(X, y, steps * rate, 1)] * size)  # fmt: skip
        if steps > 0:
            yield Mistake("no-step", "these are the zeros of the start: does the loop run range("
                          "steps) times, and is what combine returns kept, w = combine(...)?",
                          [np.zeros(X.shape[1] + 1)] * size)  # fmt: skip
        for hint_id, text, gradient in _wrong_gradients(y, size):
            yield Mistake(hint_id, text, [_descend(X, y, rate, steps, gradient)] * size)
        for hint_id, text, n_steps in (
            ("one-step-more", "one step too many: range(steps)", steps + 1),
            ("one-step-less", "one step is missing: range(steps)", steps - 1),
            ("fixed-steps", "this is 100 steps: take as many as steps says", 100),
            (
                "stuck",
                "this is the model after one step, whatever steps is: each step has to go on "
                "from the new w, w = combine(...), and return stands after the loop",
                1,
            ),
        ):
            yield Mistake(hint_id, text, [_descend(X, y, rate, n_steps)] * size)
        for lengths in _lengths(len(y), size):
            yield Mistake("divides-by-shard", _BY_ALL_ROWS,
                          _each_by_its_own(X, y, rate, steps, lengths))  # fmt: skip
        yield Mistake("other-start", "start with zeros: the model after no step is zeros, and one "
                      "that starts elsewhere ends elsewhere", [_descend(
                          X, y, rate, steps, start=1.0)] * size)  # fmt: skip
        yield Mistake(
            "own-rows-only",
            "every rank trains a model of its own: nothing is combined",
            [_descend(X[part], y[part], rate, steps) for part in _held(y, size)],
        )

    def wrong_route(self, case: Case, trace: Trace) -> tuple[str, Hint] | None:
        """Notice partial sums that go to everybody."""
        return all_to_all(case.workers, case.calls * case.settings["steps"], trace)

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Find the rows that are missing or counted twice, after one step from zeros."""
        X, y, rate, steps = arguments[0]
        if "told" in case.settings:
            return Hint("work-not-shared", "the result is right, but the work is not shared: each "
                        "rank sums over its own rows only, and sends that sum")  # fmt: skip
        if steps != 1 or wrong.rank is None or "should be" not in wrong.says:
            return _with_steps(case, wrong)
        for rank, part in enumerate(split_evenly(len(y), case.workers)):
            share = rate / len(y) * gradient_sum(np.zeros(X.shape[1] + 1), X[part], y[part])
            right = self.expected(case, arguments)[0]
            for sign, fate in ((1, "are missing"), (-1, "were added twice")):
                if difference(right + sign * share, got[wrong.rank], n_terms=self.rounding_terms,
                              scale=self.scale(case, arguments)) is None:  # fmt: skip
                    return Hint("wrong-sum", f"the rows of rank {rank} {fate}")
        return None


def _with_steps(case: Case, wrong: Difference) -> Hint | None:
    if case.seed == 0 and case.settings["steps"] > 3 and "should be" in wrong.says:
        return Hint("later-steps", "three steps are right, more are not: take all `steps` of them, "
                    "at the rate that is given, also when w hardly changes")  # fmt: skip
    if case.seed == 0 and case.settings["steps"] > 1 and "should be" in wrong.says:
        return Hint("later-steps", "one step is right, more are not: is the model that the next "
                    "step starts from the new one, on every rank?")  # fmt: skip
    return None


def _mean_gradient(w: Any, X: Any, y: Any) -> Any:
    return gradient_sum(w, X, y) / len(y)


def _descend(
    X: Any, y: Any, rate: float, steps: int, gradient: Gradient = _mean_gradient, start: float = 0.0
) -> Any:
    w = np.full(X.shape[1] + 1, start)
    for _ in range(steps):
        w = w - rate * gradient(w, X, y)
    return w


def _lengths(n_rows: int, size: int) -> list[list[int]]:
    """List how many rows the parts have, where the first ones are longer, and where any are."""
    first = [part.stop - part.start for part in split_evenly(n_rows, size)]
    spread = [(rank + 1) * n_rows // size - rank * n_rows // size for rank in range(size)]
    return [first, spread] if min(first) else []


def _each_by_its_own(X: Any, y: Any, rate: float, steps: int, lengths: list[int]) -> list[Any]:
    """Let each rank step along the sum of all, divided by the number of its own rows."""
    ends = np.cumsum(lengths)
    models = [np.zeros(X.shape[1] + 1) for _ in lengths]
    for _ in range(steps):
        total = sum(gradient_sum(w, X[end - n : end], y[end - n : end])
                    for w, end, n in zip(models, ends, lengths, strict=True))  # fmt: skip
        models = [w - rate / n * total for w, n in zip(models, lengths, strict=True)]
    return models


def _is_model(value: Any, shape: tuple[int, ...]) -> bool:
    """Tell whether it has the form of a model; what it should be, the cases before have judged."""
    return isinstance(value, np.ndarray) and value.shape == shape and value.dtype == np.float64


def _rows_used(arguments: Given, w: Any) -> list[int] | None:
    """Decode how many rows each rank summed over: a step from zeros adds up what it predicts."""
    _, y, rate, _ = arguments[0]
    if not np.isfinite(w[0]):
        return None
    total = round(float(w[0]) * len(y) / rate - float(np.sum(y - 1.0)))
    used = []
    for _ in arguments:
        total, rows = divmod(total, len(y) + 1)
        used.append(rows)
    return used if total == 0 and sum(used) == len(y) else None


def _held(y: Any, size: int) -> list[slice]:
    return [part for part in split_evenly(len(y), size) if part.stop > part.start]


def _standardised(X: Any) -> Any:
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread == 0, 1, spread)


def _wrong_gradients(y: Any, size: int) -> Iterator[tuple[str, str, Gradient]]:
    """Yield a hint's id and text, and the gradient that calls for it."""
    n_rows, parts = len(y), _held(y, size)

    def divided_by(n: int) -> Gradient:
        return lambda w, X, y: gradient_sum(w, X, y) / n

    def mean_of_means(w: Any, X: Any, y: Any) -> Any:
        return np.sum([_mean_gradient(w, X[part], y[part]) for part in parts], axis=0) / size

    def of_whole_parts(w: Any, X: Any, y: Any) -> Any:
        kept = n_rows // size * size
        return gradient_sum(w, X[:kept], y[:kept]) / n_rows

    yield (
        "mean-of-means",
        "this is the mean of the parts' means: a part of 2 rows must count less than one of 3; "
        "send sums, and divide once by the number of all rows",
        mean_of_means,
    )
    yield (
        "sum-of-means",
        "the means of the parts were added up: send sums, and divide once by all rows",
        lambda w, X, y: size * mean_of_means(w, X, y),
    )
    yield "divided-twice", _TWICE, lambda w, X, y: size * mean_of_means(w, X, y) / n_rows
    yield "not-divided", "learning rate times the mean: divide by all rows", divided_by(1)
    yield "divides-by-ranks", "divide by the number of rows, not of ranks", divided_by(size)
    for n in {parts[0].stop - parts[0].start, max(1, n_rows // size)}:
        yield "divides-by-shard", _BY_ALL_ROWS, divided_by(n)
    yield (
        "all-rows-on-each",
        "every rank sums over all rows, so each row counts P times: take this rank's rows only",
        lambda w, X, y: size * _mean_gradient(w, X, y),
    )
    yield "rows-lost", "n_rows // P rows each: the rest belongs to nobody", of_whole_parts
    yield (
        "standardised", "the intercept is right, the slopes are not: X is used as it is given, not "
        "standardised", lambda w, X, y: _mean_gradient(w, _standardised(X), y),
    )  # fmt: skip
    yield "wrong-sign", "this climbs: the new model is w minus the step", divided_by(-n_rows)


TASK = MapReduce()
