"""A step in micro-batches that is the step of the whole batch."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.checks.comparator import Difference
from course_lib.checks.task import Case, Given, Hint, Mistake, Price, Task

Array = NDArray[np.float64]


class MicrobatchStep(Task):
    """One step of gradient descent, of which only a part of the batch fits at a time."""

    name = "microbatch_step"
    title = "Find the bug: take the whole batch's step with gradients of micro-batches."
    talks = False
    takes = ("gradient", "w", "X", "y", "microbatches", "learning_rate")
    enough = "a loop over parts and a weighted sum are enough"
    rounding_terms = 1 << 12

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with parts of 3, 3, 2 and 2 examples, the same each time."""
        for number, (rows, M) in enumerate(((10, 4), (12, 3), (7, 7), (9, 1), (11, 5), (23, 8))):
            seed = secret + number if number else 0
            yield Case(1, f"{rows} examples in {M} micro-batches", seed=seed, calls=1,
                       alone=True, settings={"rows": rows, "microbatches": M})  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Draw a batch whose examples differ much; the first argument is how many fit."""
        rng, rows, M = case.rng(rank, call), case.settings["rows"], case.settings["microbatches"]
        X = rng.normal(size=(rows, 3)) + np.arange(rows)[:, None] / rows
        y = rng.normal(size=rows) + np.arange(rows)
        return -(-rows // M), rng.normal(size=3), X, y, M, 0.05

    def call(self, fn: Callable[..., Any], comm: Any, arguments: tuple[Any, ...]) -> Any:
        """Hand out a gradient that refuses what does not fit."""
        fits, *rest = arguments
        return fn(partial(_gradient, fits=fits), *rest)

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Take the step with the whole batch."""
        _, w, X, y, _, rate = arguments[0]
        return [w - rate * _mean_gradient(w, X, y)]

    def scale(self, case: Case, arguments: Given) -> Any:
        """Take the largest number that is added up."""
        _, w, X, y, _, _ = arguments[0]
        return float(np.abs(w).max() + np.abs(X.T * (X @ w - y)).max())

    def price(self, case: Case) -> Price:
        """Cost nothing."""
        return Price(0, 0, 0)

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        _, w, X, y, M, rate = arguments[0]
        parts = np.array_split(np.arange(len(y)), M)
        grads = [_mean_gradient(w, X[part], y[part]) for part in parts]
        sizes = [len(part) for part in parts]
        weighted = sum(n * g for n, g in zip(sizes, grads, strict=True))

        def stepped(gradient: Any) -> list[Array]:
            return [w - rate * gradient]

        yield Mistake("unchanged", "these are the parameters as they came", [w])
        yield from _walks(w, X, y, M, rate)
        for hint_id, text, values in (
            ("mean-of-means", "the mean of the parts' means is the batch's only where all parts "
             "are equally large: weight each by its examples", stepped(sum(grads) / M)),
            ("means-added-up", "each part's gradient is a mean already: their sum is about M "
             "times too large", stepped(sum(grads))),
            ("sum-over-examples", "this is the sum over all examples: divide by how many there "
             "are", stepped(weighted)),
            ("divided-by-parts", "this is the sum over all examples, divided by the number of "
             "parts: divide by the number of examples", stepped(weighted / M)),
            ("divided-twice", "this is divided twice: by the examples, and by the parts",
             stepped(weighted / len(y) / M)),
            ("divided-twice", "this is divided twice: each part's gradient is a mean already",
             stepped(sum(grads) / len(y))),
            ("last-part-missing", f"the last {sizes[-1]} examples are missing: every example is in "
             "a part, and parts need not be equally large",
             stepped((weighted - sizes[-1] * grads[-1]) / len(y))),
            ("last-part-missing", f"the last part, of {sizes[-1]} examples, is missing",
             stepped(sum(grads[:-1]) / max(M - 1, 1))),
            ("one-part", "this is the step of one part alone", stepped(grads[-1])),
            ("one-part", "this is the step of one part alone", stepped(grads[0])),
            ("uphill", "this goes uphill: subtract", stepped(-weighted / len(y))),
            ("returns-gradient", "this is the gradient: return the parameters after the step",
             [weighted / len(y)]),
            ("returns-gradient", "this is the step: return the parameters after it",
             [rate * weighted / len(y)]),
        ):  # fmt: skip
            yield Mistake(hint_id, text, values)

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice examples that are left over when a batch is cut into equal parts."""
        _, w, X, y, M, rate = arguments[0]
        each = len(y) // M
        if each * M == len(y) or not isinstance(got[0], np.ndarray):
            return None
        kept = slice(0, each * M)
        grad = _mean_gradient(w, X[kept], y[kept])
        for factor in (1.0, each * M / len(y), each):
            if got[0].shape == w.shape and np.allclose(got[0], w - rate * factor * grad, rtol=1e-9):
                return Hint("left-over", "examples are left over when the batch is cut into equal "
                            "parts: np.array_split makes parts that differ by one")  # fmt: skip
        return None

    def explain_mishap(self, case: Case, kind: str, text: str) -> Hint | None:
        """Notice a batch that does not fit."""
        if "examples fit" in text:
            return Hint("does-not-fit", "call gradient with one micro-batch at a time")
        if "gradient of no examples" in text:
            return Hint("empty-part", "a part is empty: cut the batch into exactly microbatches "
                        "parts")  # fmt: skip
        return None


def _walks(w: Array, X: Array, y: Array, M: int, rate: float) -> Iterator[Mistake]:
    """Update after each part, however it is weighted."""
    parts = np.array_split(np.arange(len(y)), M)
    for weights in ([1.0] * M, [len(part) / len(y) for part in parts], [1 / M] * M):
        at = w
        for part, weight in zip(parts, weights, strict=True):
            at = at - rate * weight * _mean_gradient(at, X[part], y[part])
        yield Mistake("other-weights", "each part sees other parameters: update once, after the "
                      "last part", [at])  # fmt: skip


def _mean_gradient(w: Array, X: Array, y: Array) -> Array:
    slope: Array = X.T @ (X @ w - y) / len(y)
    return slope


def _gradient(w: Array, X: Array, y: Array, *, fits: int) -> Array:
    """Return the mean gradient of no more examples than fit."""
    if len(y) > fits:
        raise ValueError(f"no more than {fits} examples fit into memory, got {len(y)}")
    if len(y) == 0:
        raise ValueError("the gradient of no examples is not defined")
    return _mean_gradient(w, X, y)


TASK = MicrobatchStep()
