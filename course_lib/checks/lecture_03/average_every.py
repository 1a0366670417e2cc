"""Local SGD: train alone for a while, then take the mean of the models."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from course_lib.checks.comparator import Difference, differing_bits
from course_lib.checks.lecture_03.data import left_out, most, random_examples, reference
from course_lib.checks.task import ALL_SIZES, Case, Given, Hint, Mistake, Price, Task
from course_lib.models.linear_regression import LinearRegression
from course_lib.trace.trace import Trace
from course_lib.training.shards import split_evenly


class AverageEvery(Task):
    """Each rank's steps on its own examples, and the mean of the models after every few."""

    name = "average_every"
    title = "Train alone on every rank, and average the models after every few steps."
    takes = ("model", "w", "X_local", "y_local", "learning_rate", "every")
    may_use_collectives = True
    forbidden = ("course_lib.schemes",)
    rounding_terms = 512
    price_hints: ClassVar[Mapping[str, str]] = {
        "too-many-messages": "one all-reduce for each average that is due: is there one before the "
        "first step, or one more after the loop?",
    }

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin where the last step is no turn; then where it is one."""
        for label, n_rows, every in (
            ("7 steps, averages after every third and after the last", 7, 3),
            ("6 steps, averages after every third", 6, 3),
            ("2 steps, averages after each", 2, 1),
            ("3 steps, one average", 3, 10),
            ("9 steps, averages after every second and after the last", 9, 2),
        ):
            yield Case(4, label, calls=1, settings={"n_rows": n_rows, "every": every})
        for number, size in enumerate(ALL_SIZES):
            for n_rows, every in ((7, 3), (6, 2), (1, 1)):
                yield Case(
                    size, f"{n_rows} steps, averages after every {every}, random",
                    seed=secret + number, rendezvous=every == 2, stagger=every == 1,
                    settings={"n_rows": n_rows, "every": every},
                )  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Give every rank its own examples, and the same w."""
        n_rows, every = case.settings["n_rows"], case.settings["every"]
        if case.seed == 0:
            X = np.arange(2.0 * n_rows).reshape(n_rows, 2) % 5 - rank
            return LinearRegression(2), np.array([0.5, 1.0, -1.0]), X, X[:, 0] + rank, 0.05, every
        X, y = random_examples(case.rng(rank, call), n_rows, 3)
        shared = case.rng(case.workers, call)  # no rank has this number: the same for all
        w, rate = shared.normal(size=4), float(shared.uniform(0.05, 0.2))
        return LinearRegression(3), w, X, y, rate, every

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Train all ranks on paper."""
        return _trained(arguments, _turns(case) | {case.settings["n_rows"]})

    def scale(self, case: Case, arguments: Given) -> Any:
        """Take the largest number on the way."""
        return float(
            max(np.abs(w).max() + np.abs(X).max() * np.abs(y).max() for _, w, X, y, *_ in arguments)
        )

    def compare(self, case: Case, arguments: Given, got: Sequence[Any]) -> Difference | None:
        """Compare with the right models, and the ranks with each other: to the last bit."""
        return super().compare(case, arguments, got) or differing_bits(got, "parameters")

    def price(self, case: Case) -> Price:
        """All-reduce as often as an average is due."""
        return reference(case.workers, _lengths(case))

    def budget(self, case: Case) -> Price:
        """Leave room for other all-reduces."""
        return most(case.workers, _lengths(case))

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        every, last = case.settings["every"], case.settings["n_rows"]
        turns = _turns(case)
        early = set(range(1, last + 1, every)) | {last}
        late = set(range(every + 1, last + 1, every + 1)) | {last}
        others = {step for step in range(1, last + 1) if step % every} | {last}
        for hint_id, text, values in (
            ("last-average", "the ranks have walked on since the last average: average after the "
             "last step, too", _trained(arguments, turns)),
            ("never-averaged", "every rank returns a model of its own: nothing is averaged",
             _trained(arguments, set())),
            ("averaged-once", "only the last average counts here: average after every `every` "
             "steps, and go on from the mean", _trained(arguments, {last})),
            ("and-so-on", "it goes on so: an average after every `every` steps, not after the "
             "first two turns only", _trained(arguments, {every, 2 * every, last})),
            ("each-step", "averaged after each step: after every `every` steps only",
             _trained(arguments, set(range(last + 1)))),
            ("turned-round", "step % every is 0 where an average is due: write == 0",
             _trained(arguments, others)),
            ("off-by-one", "the first average comes after step number `every`: with range(n) the "
             "numbers start at 0", _trained(arguments, early)),
            ("off-by-one", "one step too many lies between two averages",
             _trained(arguments, late)),
            ("sum", "this is the sum of the models: take the mean",
             _trained(arguments, turns | {last}, divide=False)),
            ("wrong-sign", "this climbs: subtract the gradient",
             _trained(arguments, turns | {last}, sign=-1)),
            ("not-updated", "these are the first parameters: no step was taken",
             [given[1] for given in arguments]),
            ("returns-early", "these are the models after the first average: other rows follow; "
             "is return inside the loop?", _trained(_first(arguments, every), {every})),
            ("rest-lost", "the rows after the last whole block of `every` are not used",
             _trained(_first(arguments, max(turns, default=0)), turns)),
            ("rate-divided", "each rank steps with the whole learning_rate: the mean comes later",
             _trained(_at_rate(arguments, 1 / case.workers), turns | {last})),
            *(("blocks", "one row a step, and w walks on after each: here `every` rows make one "
               "step", _in_blocks(arguments, every, factor)) for factor in (1, every)),
            ("cut-again", "X_local is this rank's already: take all of its rows, not a part",
             _cut_again(arguments)),
            ("one-step", "all rows in one step: one step for each row", _in_one_step(arguments)),
        ):  # fmt: skip
            yield Mistake(hint_id, text, values)

    def wrong_route(self, case: Case, trace: Trace) -> tuple[str, Hint] | None:
        """Notice a last step that is averaged twice; other needless averages show before."""
        last, due = case.settings["n_rows"], len(_lengths(case)) * case.calls
        made = {(event.comm, event.number) for event in trace.collectives if event.rank == 0}
        if last not in _turns(case) or len(made) != due + case.calls:
            return None
        return (
            f"the result is right, but {len(made)} averages were made where {due} are due",
            Hint("averaged-twice", f"step {last} is the last one, and it is averaged twice: by the "
                 "`if` for every `every` steps, and again because it is the last; one `if` with an "
                 "`or` averages it once"),
        )  # fmt: skip

    def explain_mishap(self, case: Case, kind: str, text: str) -> Hint | None:
        """Notice a row that is no table of one row."""
        if "has no len()" in text or "matmul" in text or "axis 1 is out of bounds" in text:
            return Hint("one-row", "a batch is a table, also of a single row: X_local[s : s + 1] "
                        "has two dimensions, X_local[s] has one")  # fmt: skip
        return left_out(kind, text)

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice other bits."""
        if wrong.where == "bits":
            return Hint("last-bits", "each rank adds in another order: use one all-reduce for all")
        return None


def _turns(case: Case) -> set[int]:
    return set(range(case.settings["every"], case.settings["n_rows"] + 1, case.settings["every"]))


def _lengths(case: Case) -> tuple[int, ...]:
    n_averages = len(_turns(case) | {case.settings["n_rows"]})
    return (3 if case.seed == 0 else 4,) * n_averages


def _trained(arguments: Given, due: set[int], divide: bool = True, sign: int = 1) -> list[Any]:
    """Walk all ranks through their rows; average after the steps that are ``due``, from 1."""
    held = [w.copy() for _, w, *_ in arguments]
    for step in range(len(arguments[0][3])):
        for rank, (model, _, X, y, rate, _) in enumerate(arguments):
            row = slice(step, step + 1)
            held[rank] = held[rank] - sign * rate * model.gradient(held[rank], (X[row], y[row]))[1]
        if step + 1 in due:
            total = np.sum(held, axis=0)
            held = [total / len(held) if divide else total] * len(held)
    return held


def _first(arguments: Given, n_rows: int) -> list[Any]:
    return [(model, w, X[:n_rows], y[:n_rows], *more) for model, w, X, y, *more in arguments]


def _at_rate(arguments: Given, factor: float) -> list[Any]:
    return [(*others, factor * rate, every) for *others, rate, every in arguments]


def _in_blocks(arguments: Given, n_rows: int, factor: float) -> list[Any]:
    """Step once with each block of rows, along the mean gradient of all ranks."""
    w = arguments[0][1]
    for start in range(0, len(arguments[0][3]), n_rows):
        rows = slice(start, start + n_rows)
        grads = [m.gradient(w, (X[rows], y[rows]))[1] for m, _, X, y, *_ in arguments]
        w = w - factor * arguments[0][4] * np.mean(grads, axis=0)
    return [w] * len(arguments)


def _cut_again(arguments: Given) -> list[Any]:
    """Give each rank a part of its rows only, and take the mean at the end."""
    after, parts = [], split_evenly(len(arguments[0][3]), len(arguments))
    for part, (model, w, X, y, *more) in zip(parts, arguments, strict=True):
        after += _trained([(model, w, X[part], y[part], *more)], set())
    return [np.mean(after, axis=0)] * len(after)


def _in_one_step(arguments: Given) -> list[Any]:
    after = [w - rate * model.gradient(w, (X, y))[1] for model, w, X, y, rate, _ in arguments]
    return [np.mean(after, axis=0)] * len(after)


TASK = AverageEvery()
