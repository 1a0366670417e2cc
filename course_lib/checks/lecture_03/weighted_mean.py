"""The mean over all examples, from means over parts of any size."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from course_lib.checks.comparator import Difference
from course_lib.checks.lecture_03.data import left_out, most, reference
from course_lib.checks.task import ALL_SIZES, Case, Given, Hint, Mistake, Price, Task


class WeightedMean(Task):
    """``sum(n_examples * grad) / sum(n_examples)`` over the ranks, on every rank."""

    name = "weighted_mean"
    title = "Give every rank the mean gradient over all examples, whatever the parts' sizes."
    takes = ("grad", "n_examples")
    may_use_collectives = True
    forbidden = ("course_lib.schemes",)
    rounding_terms = 32
    price_hints: ClassVar[Mapping[str, str]] = {
        "too-many-bytes": "the number of examples is one number: an all-reduce of an array with "
        "one element is enough for it",
        "too-many-messages": "an all-reduce takes a whole array: one for the gradients, and one "
        "for the numbers of examples",
    }

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with unequal parts, then with ranks without examples."""
        yield Case(4, "1, 2, 3 and 4 examples", calls=1, settings={"counts": (1, 2, 3, 4), "n": 2})
        yield Case(4, "0, 5, 1 and 0 examples", settings={"counts": (0, 5, 1, 0), "n": 2})
        yield Case(
            4, "300, 2, 70,000 and 0 examples", settings={"counts": (300, 2, 70_000, 0), "n": 2}
        )
        for number, size in enumerate(ALL_SIZES):
            for n in (1, 3, 50):
                counts = np.random.default_rng([secret, size, n]).integers(0, 9, size=size)
                counts[-1] += counts.sum() == 0
                yield Case(
                    size, f"{n} numbers, random", seed=secret + number, rendezvous=n == 50,
                    stagger=n == 1, settings={"counts": tuple(map(int, counts)), "n": n},
                )  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Make this rank's mean gradient, and say over how many examples it is."""
        n, n_examples = case.settings["n"], case.settings["counts"][rank]
        if n_examples == 0:
            return np.zeros(n), 0
        if case.seed == 0:
            return np.full(n, float(10**rank)) + call, n_examples
        return case.rng(rank, call).normal(size=n), n_examples

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Weigh every part with its number of examples."""
        total = sum(n_examples for _, n_examples in arguments)
        return [sum(n * grad for grad, n in arguments) / total] * case.workers

    def scale(self, case: Case, arguments: Given) -> Any:
        """Take the largest gradient."""
        return float(max(np.abs(grad).max() for grad, _ in arguments))

    def price(self, case: Case) -> Price:
        """Sum the gradients, and the numbers of examples."""
        return reference(case.workers, (case.settings["n"], 1))

    def budget(self, case: Case) -> Price:
        """Leave room for other all-reduces."""
        return most(case.workers, (case.settings["n"], 1))

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        grads, counts = [grad for grad, _ in arguments], [n for _, n in arguments]
        size, total = case.workers, sum(counts)
        weighted = sum(n * grad for grad, n in arguments)
        for hint_id, text, value in (
            ("mean-of-means", "this is the mean of the ranks' means: a rank with 4 examples must "
             "count four times as much as one with 1", sum(grads) / size),
            ("mean-of-means", "this is the mean over the ranks that have examples; examples must "
             "count alike, not ranks", sum(grads) / max(1, sum(n > 0 for n in counts))),
            ("sum-of-means", "the means were added up: weigh them first, and divide by all "
             "examples", sum(grads)),
            ("not-divided", "this is the sum over all examples: divide by how many there are, on "
             "all ranks together", weighted),
            ("divides-by-ranks", "divide by the number of all examples, not of ranks",
             weighted / size),
            ("divided-twice", "divided by the examples and by the ranks: once is enough",
             weighted / total / size),
            ("not-weighed", "divided by all examples, but the means were not multiplied with "
             "theirs", sum(grads) / total),
        ):  # fmt: skip
            yield Mistake(hint_id, text, [value] * size)
        yield Mistake("weighed-late", "multiply by n_examples before the all-reduce: afterwards "
                      "every rank multiplies the sum by its own number",
                      [n * sum(grads) / total for n in counts])  # fmt: skip
        yield Mistake("own-only", "every rank returns its own mean: nothing is combined", grads)
        for small in (np.int8, np.int16, np.uint8, np.uint16):
            wrapped = int(np.sum(np.array(counts).astype(small), dtype=small))
            if wrapped not in (0, total):
                yield Mistake("overflow", "the number of examples does not fit into the dtype in "
                              "which it travels: np.array([float(n_examples)])",
                              [weighted / wrapped] * size)  # fmt: skip
        if min(counts) > 0:
            yield Mistake(
                "divides-by-own", "divide by the number of all examples, not of this rank's",
                [weighted / n for n in counts],
            )  # fmt: skip
            yield Mistake(
                "divides-by-own", "P times this rank's number is not the number of all: the parts "
                "differ; all-reduce the numbers, too", [weighted / n / size for n in counts],
            )  # fmt: skip

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice NaN from a rank without examples."""
        value = got[wrong.rank or 0]
        if isinstance(value, np.ndarray) and not np.isfinite(value).all():
            return Hint("no-examples", "a rank may have no examples: where is that divided by?")
        return None

    def explain_mishap(self, case: Case, kind: str, text: str) -> Hint | None:
        """Notice a rank that leaves the others alone."""
        return left_out(kind, text)


TASK = WeightedMean()
