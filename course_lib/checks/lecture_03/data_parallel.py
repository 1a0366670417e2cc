"""One epoch of data-parallel training, as one machine would do it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from course_lib.checks.comparator import Difference, differing_bits
from course_lib.checks.lecture_03.counting import EXAMPLES, Counting, not_shared
from course_lib.checks.lecture_03.data import (
    left_out,
    most,
    random_examples,
    reference,
    simulate,
)
from course_lib.checks.task import ALL_SIZES, Case, Given, Hint, Mistake, Price, Task
from course_lib.models.linear_regression import LinearRegression
from course_lib.trace.trace import Trace
from course_lib.training.shards import split_evenly

Batches = list[list[slice]]


class DataParallel(Task):
    """One machine's epoch from rank 0's parameters, on every rank."""

    name = "data_parallel"
    title = "Train one epoch on all ranks together, as one machine would."
    takes = ("model", "w", "X", "y", "learning_rate", "batch_size")
    may_use_collectives = True
    forbidden = ("course_lib.schemes",)
    rounding_terms = 512
    price_hints: ClassVar[Mapping[str, str]] = {
        "too-many-messages": "one broadcast before the first step, and one all-reduce in each step",
    }
    deadlock_hint = "every rank takes part in every step, even without examples: it adds zeros then"

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with one equal step from one place; then make it harder, one thing at a time."""
        for label, n_rows, batch_size, alike in (
            ("8 examples, one batch of 8, equal starts", 8, 8, True),
            ("12 examples, batches of 4, equal starts", 12, 4, True),
            ("8 examples, batches of 4, every rank with another w", 8, 4, False),
            ("6 examples, one batch of 6, equal starts", 6, 6, True),
            ("11 examples, batches of 6, equal starts", 11, 6, True),
            ("3 examples, one batch of 3, equal starts", 3, 3, True),
            ("13 examples, batches of 4, equal starts", 13, 4, True),
        ):
            yield _case(4, label, n_rows, batch_size, alike=alike)
        for number, size in enumerate(ALL_SIZES):
            for n_rows, batch_size in ((23, 7), (16, 8), (2, 5)):
                yield _case(
                    size, f"{n_rows} examples, batches of {batch_size}, random", n_rows,
                    batch_size, seed=secret + number, calls=2, rendezvous=n_rows == 16,
                    stagger=n_rows == 2,
                )  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Give the whole table to every rank, and parameters that may differ."""
        n_rows, batch_size = case.settings["n_rows"], case.settings["batch_size"]
        if case.seed == 0:
            X = np.arange(2.0 * n_rows).reshape(n_rows, 2) % 7 - 2
            y = np.arange(n_rows) ** 2 % 11.0
            w = np.array([0.5, 1.0, -1.0]) + (0 if case.settings["alike"] else rank)
            return LinearRegression(2), w, X, y, 0.1, batch_size
        shared = case.rng(case.workers, call)  # no rank has this number: the same for all
        X, y = random_examples(shared, n_rows, 3)
        rate = float(shared.uniform(0.05, 0.2))
        return LinearRegression(3), case.rng(rank, call).normal(size=4), X, y, rate, batch_size

    def call(self, fn: Callable[..., Any], comm: Any, arguments: tuple[Any, ...]) -> Any:
        """Hand in a model that counts, and note what it has counted."""
        model, *others = arguments
        counting = Counting(model)
        value = fn(comm, counting, *others)
        comm.note(EXAMPLES, counting.counted())
        return value

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Train on one machine."""
        model, w, X, y, rate, batch_size = arguments[0]
        for start in range(0, len(y), batch_size):
            rows = slice(start, start + batch_size)
            w = w - rate * model.gradient(w, (X[rows], y[rows]))[1]
        return [w] * case.workers

    def scale(self, case: Case, arguments: Given) -> Any:
        """Take the largest target or example."""
        _, w, X, y, *_ = arguments[0]
        return float(np.abs(w).max() + np.abs(X).max() * np.abs(y).max())

    def compare(self, case: Case, arguments: Given, got: Sequence[Any]) -> Difference | None:
        """Compare with one machine, and the ranks with each other: to the last bit."""
        return super().compare(case, arguments, got) or differing_bits(got, "parameters")

    def price(self, case: Case) -> Price:
        """Broadcast once, and all-reduce in every step."""
        return reference(case.workers, self._lengths(case), _n_parameters(case))

    def budget(self, case: Case) -> Price:
        """Leave room for other all-reduces."""
        return most(case.workers, self._lengths(case), _n_parameters(case))

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        _, _, X, y, rate, batch_size = arguments[0]
        size, own = case.workers, [given[1] for given in arguments]
        alike = [own[0]] * size
        batches = _parts(len(y), batch_size, size)

        def trained(starts: Any, kind: str, steps: Batches = batches, sign: int = 1) -> Any:
            return simulate(
                starts, steps, X, y,
                lambda grads, counts: _combined(kind, grads, counts, batch_size), sign * rate,
            )  # fmt: skip

        full = [parts for parts in batches if parts[-1].stop - parts[0].start == batch_size]
        cut = [_cut(parts, size) for parts in batches]
        for hint_id, text, values in (
            ("no-broadcast", "every rank starts from its own w: rank 0's is the one that counts",
             trained(own, "weighed")),
            ("other-root", "these steps start from the last rank's w: rank 0's is the one that "
             "counts", trained([own[-1]] * size, "weighed")),
            ("sum-of-means", "the means of the parts were added up: P times too long a step; weigh "
             "each with its part of the batch", trained(alike, "sum")),
            ("mean-of-means", "this is the mean of the parts' means: a part of 2 examples must "
             "count more than a part of 1", trained(alike, "mean")),
            ("divided-twice", "weighed with the part of the batch, and divided by P as well",
             trained(alike, "weighed mean")),
            ("divides-by-batch-size", "the last batch may be smaller: weigh with the part of this "
             "batch, not of batch_size", trained(alike, "nominal")),
            ("own-part-only", "every rank trains by itself: the gradients are never combined",
             trained(alike, "own")),
            ("own-part-only", "every rank trains by itself: the gradients are never combined",
             trained(alike, "own weighed")),
            ("wrong-sign", "this climbs: subtract the gradient",
             trained(alike, "weighed", sign=-1)),
            ("last-batch-lost", "the last batch is missing where it is smaller than the others",
             trained(alike, "weighed", full)),
            ("rows-lost", "a batch that P does not divide loses its last examples: split_evenly "
             "distributes all of them", trained(alike, "weighed", cut)),
            ("divides-by-batch-size", "the weights of all ranks must add up to 1: divide by the "
             "rows of this batch, which P need not divide", trained(alike, "padded")),
            ("batch-each", "batch_size is what all ranks take together: here each takes as many, "
             "and a step has P times the rows",
             trained(alike, "weighed", _parts(len(y), batch_size * size, size))),
            ("first-part", "all ranks take the part of rank 0: the others' examples are missing",
             trained(alike, "mean", [[parts[0]] * size for parts in batches])),
            ("same-batch", "every step takes the first batch again: the part is one of *this* "
             "batch, which begins at start", trained(alike, "mean", batches[:1] * len(batches))),
            ("same-batch", "every step takes the first batch again: the part is one of *this* "
             "batch, which begins at start", trained(alike, "weighed", batches[:1] * len(batches))),
            *(("shards-first", "the table was partitioned first, and each shard cut into batches: "
               "batch 0 is the first batch_size rows, of which each rank takes its part",
               trained(alike, kind, _shards_first(len(y), batch_size, size)))
              for kind in ("weighed", "mean")),
            ("one-step-only", "only the first batch was used",
             trained(alike, "weighed", batches[:1])),
            ("not-updated", "these are the first parameters: no step was taken", alike),
        ):  # fmt: skip
            yield Mistake(hint_id, text, values)
        yield Mistake(
            "stale-gradient",
            "all gradients were taken at the first parameters: take each at the newest",
            [own[0] - rate * _sum_at(own[0], batches, X, y)] * size,
        )

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice other bits."""
        if wrong.where == "bits":
            return Hint("last-bits", "each rank adds in another order: use one all-reduce for all")
        return None

    def explain_mishap(self, case: Case, kind: str, text: str) -> Hint | None:
        """Notice a gradient over no examples."""
        if "at least one example to take a mean of" in text:
            return Hint(
                "no-examples",
                "a batch may be smaller than P, and some rank has no example then: its gradient is "
                "zeros",
            )
        return _slip(text) or left_out(kind, text)

    def wrong_route(self, case: Case, trace: Trace) -> tuple[str, Hint] | None:
        """Count the examples that each rank computed on."""
        return not_shared(trace, case.settings["batch_size"], case.settings["n_rows"] * case.calls)

    def _lengths(self, case: Case) -> tuple[int, ...]:
        n_steps: int = -(-case.settings["n_rows"] // case.settings["batch_size"])
        return (_n_parameters(case),) * n_steps


def _slip(text: str) -> Hint | None:
    """Tell what was meant by what failed."""
    about = text.partition("\n\n")[0]
    if "got float" in about and "array" in about:
        return Hint("loss-first", "model.gradient returns (loss, gradient), in this order: does "
                    "the loss stand where the gradient should?")  # fmt: skip
    if "only integers, slices" in about:
        return Hint("list-of-parts", "split_evenly gives a list with one slice for each rank: take "
                    "this rank's, [comm.rank]")  # fmt: skip
    if "gradient() takes 3 positional arguments" in about:
        return Hint("one-batch", "X and y are one argument, a pair: model.gradient(w, (X, y))")
    return None


def _case(
    size: int, label: str, n_rows: int, batch_size: int, alike: bool = False, seed: int = 0,
    calls: int = 1, rendezvous: bool = False, stagger: bool = False,
) -> Case:  # fmt: skip
    settings = {"n_rows": n_rows, "batch_size": batch_size, "alike": alike}
    return Case(size, label, seed, calls, rendezvous, stagger, settings=settings)


def _n_parameters(case: Case) -> int:
    return 3 if case.seed == 0 else 4


def _parts(n_rows: int, batch_size: int, size: int) -> Batches:
    """List every rank's rows of every batch."""
    batches = []
    for start in range(0, n_rows, batch_size):
        parts = split_evenly(min(batch_size, n_rows - start), size)
        batches.append([slice(start + part.start, start + part.stop) for part in parts])
    return batches


def _shards_first(n_rows: int, batch_size: int, size: int) -> Batches:
    """Cut each rank's share of the table into its parts of batches."""
    shares, each = split_evenly(n_rows, size), max(1, batch_size // size)
    return [
        [slice(min(s.start + at, s.stop), min(s.start + at + each, s.stop)) for s in shares]
        for at in range(0, shares[0].stop - shares[0].start, each)
    ]


def _cut(parts: list[slice], size: int) -> list[slice]:
    start, each = parts[0].start, (parts[-1].stop - parts[0].start) // size
    return [slice(start + rank * each, start + (rank + 1) * each) for rank in range(size)]


def _combined(kind: str, grads: list[Any], counts: list[int], batch_size: int) -> list[Any]:
    """Return what each rank steps along, by a right rule or a wrong one."""
    size, total = len(grads), batch_size if kind == "nominal" else max(1, sum(counts))
    total = -(-total // size) * size if kind == "padded" else total
    weighed = [n / total * grad for grad, n in zip(grads, counts, strict=True)]
    if kind == "own":
        return grads
    if kind == "own weighed":
        return weighed
    grad = sum(grads) if kind in ("sum", "mean") else sum(weighed)
    return [grad / size if kind.endswith("mean") else grad] * size


def _sum_at(w: Any, batches: Batches, X: Any, y: Any) -> Any:
    model = LinearRegression(X.shape[1])
    whole = [slice(parts[0].start, parts[-1].stop) for parts in batches]
    return sum(model.gradient(w, (X[rows], y[rows]))[1] for rows in whole)


TASK = DataParallel()
