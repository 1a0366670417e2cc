"""Hogwild by hand: sparse updates in shared memory without a lock, and a count of what is lost."""

from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from course_lib.checks.comparator import Difference
from course_lib.checks.lecture_10.shared_numbers import SharedNumbers
from course_lib.checks.task import Case, Given, Hint, Mistake, Price, Task
from course_lib.comm.simulated.network import Network

__all__ = ["TASK"]

Vector = NDArray[Any]

_FLOPS_PER_S = 1e9
_NETWORK = Network("whose computations take what the case says", 1e-6, 1e10, _FLOPS_PER_S)


class _Work(NamedTuple):
    """The gradients of one rank's examples, and how long each takes, and each step."""

    slopes: list[Vector]
    shifts: list[Vector]
    rate: float
    gradient_s: list[float]
    step_s: list[float]

    def gradient(self, values: Vector, number: int) -> Vector:
        """Return the gradient for the parameters of an example."""
        return np.asarray(self.slopes[number] * values - self.shifts[number])

    def step(self, values: Vector, grad: Vector) -> Vector:
        """Return what is to be stored."""
        return np.asarray(values - np.asarray(self.rate, grad.dtype) * grad)


class LockFree(Task):
    """Ranks change one vector; each at its own pace, so that some updates overwrite others."""

    name = "lock_free"
    title = "Train without a lock in shared memory, and count how many updates are lost."
    talks = False
    takes = ("w", "touched", "gradient", "step")
    verbs = ("shared_array", "barrier")
    enough = "shared_array and barrier are enough"
    rounding_terms = 64
    deadlock_hint = (
        "every rank must call barrier, and shared_array, equally often; ranks have different "
        "numbers of examples, so neither belongs in the loop"
    )

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with two ranks that meet; then more, sparse and dense, and with one alone."""
        yield _case(2, "two ranks, 3 parameters", 0, 3, 2, [2, 3])
        for number, (size, n, touched, dtype) in enumerate((
            (3, 6, 2, "float64"), (1, 5, 2, "float64"), (4, 5, 5, "float64"), (2, 9, 3, "float32"),
            (8, 12, 3, "float64"), (5, 40, 2, "float64"), (3, 4, 1, "float64"),
        )):  # fmt: skip
            seed = secret + number + 1
            rng = Case(size, "", seed=seed).rng(99, 0)
            each = [int(k) for k in rng.integers(0 if size > 2 else 3, 6, size=size)]
            label = f"{n} parameters, {touched} an example, {dtype}"
            yield _case(size, label, seed, n, touched, each, dtype)

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Give all the same start, and each its own examples."""
        n, k, dtype = (case.settings[key] for key in ("n", "touched", "dtype"))
        start = case.rng(case.workers, call).normal(size=n)
        if case.seed == 0:
            start = np.arange(1.0, n + 1)
        work = _work(case, rank, call)
        rng = case.rng(rank, call + 7)
        touched = [np.sort(rng.permutation(n)[:k]) for _ in work.slopes]
        return start.astype(dtype), touched, work, None

    def call(self, fn: Callable[..., Any], comm: Any, arguments: tuple[Any, ...]) -> Any:
        """Let gradients and steps take their time; memory is there for each rank at another."""
        w, touched, work, _ = arguments
        turns, numbers = iter(work.step_s), SharedNumbers()

        def gradient(values: Vector, number: int) -> Vector:
            numbers.look_before()
            with comm.compute("gradient", flops=work.gradient_s[number] * _FLOPS_PER_S):
                grad: Vector = work.gradient(np.array(values), number)
            numbers.look_after()
            return grad

        def step(values: Vector, grad: Vector) -> Vector:
            before = np.array(values)
            numbers.look_before()
            with comm.compute("step", flops=next(turns, 1e-4) * _FLOPS_PER_S):
                after: Vector = work.step(before, np.asarray(grad))
            numbers.look_after()
            return after

        make = comm.shared_array

        def shared_array(*args: Any, **named: Any) -> Any:
            shared = make(*args, **named)
            numbers.add(shared)
            with comm.compute("memory", flops=1e-2 * (comm.size - comm.rank) * _FLOPS_PER_S):
                return shared

        comm.__dict__["shared_array"] = shared_array
        try:
            return fn(comm, w, touched, gradient, step)
        finally:
            comm.__dict__.pop("shared_array", None)

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Follow loads and stores in the order of their times."""
        w, lost = _follow(arguments)
        return [[w, lost]] * case.workers

    def scale(self, case: Case, arguments: Given) -> Any:
        """Take the largest number that there may be."""
        largest = max((np.abs(s).max() for _, _, work, _ in arguments for s in work.shifts),
                      default=0.0)  # fmt: skip
        return float(np.abs(arguments[0][0]).max() + 8 * largest)

    def compare(self, case: Case, arguments: Given, got: Sequence[Any]) -> Difference | None:
        """Compare with the order of the times; a whole number may be one of NumPy's."""
        return super().compare(case, arguments, [_as_pair(value) for value in got])

    def price(self, case: Case) -> Price:
        """Cost no message."""
        return Price(0, 0, 0)

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones: first in the parameters, then in the count."""
        size, start = case.workers, arguments[0][0]
        zeros = [(np.zeros_like(start), *rest) for _, *rest in arguments]
        added, _ = _follow(arguments, "adds")
        for hint_id, text, values in (
            ("one-load", "the step is taken from parameters that were loaded before the gradient "
             "was computed: load again after it, others have stored meanwhile",
             [_follow(arguments, "one load")] * size),
            ("whole-vector", "a store of the whole vector overwrites parameters that the example "
             "has not: store w[touched[number]] only", [_follow(arguments, "whole vector")] * size),
            ("adds-the-change", "this adds a change to what is there by now, so nothing is lost: "
             "store what step returns", [(added, 0)] * size),
            ("starts-at-zero", "shared memory holds zeros at first: rank 0 puts w there, and all "
             "wait until it has", [_follow(zeros)] * size),
            ("not-shared", "this rank's updates are there, and nobody else's: put w into a "
             "shared_array", [_follow([one]) for one in arguments]),
            ("not-updated", "these are the parameters of the start",
             [(start, _follow(arguments)[1])] * size),
            ("not-updated", "these are the parameters of the start", [(start, 0)] * size),
        ):  # fmt: skip
            yield Mistake(hint_id, text, [list(pair) for pair in values])
        yield from _wrong_counts(arguments)

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Look at what is wrong: the form, the parameters, or the count."""
        pairs = [_as_pair(value) for value in got]
        if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            return Hint("a-pair", "return two things: the parameters, and how many are lost")
        if not all(isinstance(pair[0], np.ndarray) for pair in pairs):
            return Hint("a-pair", "first the parameters, an array like w; then the number")
        if "dtype" in wrong.says:
            return Hint(
                "dtype", "shared_array makes float64 unless told otherwise: give it w.dtype"
            )
        right, _ = _follow(arguments)
        if all(np.allclose(pair[0], right) for pair in pairs if pair[0].shape == right.shape):
            return Hint("count", "lost are all stores of all ranks, less what the shared counter "
                        "says when all have ended")  # fmt: skip
        if len({pair[0].tobytes() for pair in pairs}) > 1:
            return Hint("wait-for-all", "ranks return different parameters: wait at a barrier "
                        "until all have stored, then copy")  # fmt: skip
        return Hint("load-step-store", "for each example: gradient of w[touched[number]]; load "
                    "w[touched[number]] again; step; store there. A barrier before")  # fmt: skip

    def explain_mishap(self, case: Case, kind: str, text: str) -> Hint | None:
        """Notice a write into an argument, and a number to which several ranks add."""
        if SharedNumbers.SAYS in text:
            return Hint("one-counter", "several ranks add to one number: between load and store "
                        "others add, and that is lost, too. Give each rank a place of its own, and "
                        "add these up behind the last barrier")  # fmt: skip
        if "read-only" in text:
            return Hint("count", "do not write into an argument")
        return None


def _wrong_counts(arguments: Given) -> Iterator[Mistake]:
    """List what else may be counted, where the parameters are right."""
    right, lost = _follow(arguments)
    own = [sum(len(columns) for columns in touched) for _, touched, *_ in arguments]
    made, size = sum(own), len(own)
    for hint_id, text, counts in (
        ("counter-loses-too", "the parameters are right, and nothing seems lost: the counter must "
         "be loaded before step and stored after it, as they are", [0] * size),
        ("kept-not-lost", "this is how many are kept", [made - lost] * size),
        ("all-stores", "this is how many stores were made; how many of them does the shared "
         "counter not have?", [made] * size),
        ("own-stores-only", "the stores of all ranks count, not only this rank's",
         [n - (made - lost) for n in own]),
        ("own-stores-only", "the stores of all ranks count, not this rank's times the ranks",
         [n * size - (made - lost) for n in own]),
        ("stores-not-examples", "each parameter that is stored counts, not each example",
         [sum(len(one[1]) for one in arguments) - (made - lost)] * size),
    ):  # fmt: skip
        yield Mistake(hint_id, text, [[right, count] for count in counts])


def _case(
    size: int, label: str, seed: int, n: int, touched: int, each: list[int], dtype: str = "float64"
) -> Case:
    settings = {"n": n, "touched": touched, "each": each, "dtype": dtype}
    return Case(size, label, seed=seed, calls=1, network=_NETWORK, settings=settings)


def _work(case: Case, rank: int, call: int) -> _Work:
    """Draw the examples of one rank; steps take about as long as gradients, so that they meet."""
    rng, k, m = case.rng(rank, call), case.settings["touched"], case.settings["each"][rank]
    dtype = case.settings["dtype"]
    slopes = [rng.uniform(0.5, 1.5, size=k).astype(dtype) for _ in range(m)]
    shifts = [rng.normal(size=k).astype(dtype) for _ in range(m)]
    gradient_s, step_s = (rng.uniform(0.5, 1.5, size=m).tolist() for _ in range(2))
    return _Work(slopes, shifts, 0.25, gradient_s, step_s)


def _follow(arguments: Given, how: str = "right") -> tuple[Vector, int]:
    """Let ranks load and store in the order of their times; return what is there, and is lost.

    At each of its moments a rank does what lies between two computations: it stores what it has
    stepped, and loads for the next gradient; or it loads for a step.
    """
    w = np.array(arguments[0][0])
    seen, made = np.zeros(len(w), int), 0
    moments: list[tuple[float, int, int, bool]] = []
    loaded: dict[int, tuple[Vector, Vector]] = {}
    grads: dict[int, Vector] = {}
    whole: dict[int, Vector] = {}

    def begin(time_s: float, rank: int, number: int) -> None:
        _, touched, work, _ = arguments[rank]
        if number < len(touched):
            loaded[rank] = w[touched[number]], seen[touched[number]]
            grads[rank] = work.gradient(loaded[rank][0], number)
            heappush(moments, (time_s + work.gradient_s[number], rank, number, False))

    for rank in range(len(arguments)):
        begin(0.0, rank, 0)
    while moments:
        time_s, rank, number, stepped = heappop(moments)
        _, touched, work, _ = arguments[rank]
        mine = touched[number]
        if not stepped:
            if how != "one load":
                loaded[rank] = w[mine], seen[mine]
            whole[rank] = w.copy()
            heappush(moments, (time_s + work.step_s[number], rank, number, True))
            continue
        values, counted = loaded[rank]
        after = work.step(values, grads[rank])
        if how == "whole vector":
            w = whole[rank]
        w[mine] = w[mine] + (after - values) if how == "adds" else after
        seen[mine] = counted + 1
        made += len(mine)
        begin(time_s, rank, number + 1)
    return w, int(made - seen.sum())


def _as_pair(value: Any) -> Any:
    """Make a list of a pair, and a Python number of one of NumPy's."""
    if not isinstance(value, list | tuple):
        return value
    return [
        item.item() if isinstance(item, np.ndarray) and item.shape == () and item.dtype.kind in "iu"
        else item
        for item in value
    ]  # fmt: skip


TASK = LockFree()
