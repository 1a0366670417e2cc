"""A whole parameter server: fetch, push, update, step after step."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from course_lib.checks.comparator import Difference, differing_bits
from course_lib.checks.task import Case, Given, Hint, Mistake, Price, Task
from course_lib.trace import fingerprint

Vector = NDArray[Any]
Gradient = Callable[[Vector], Vector]

SIZES = (4, 2, 3, 5, 7, 8)


class ParameterServer(Task):
    """Rank 0 serves, all others compute; every rank returns the last parameters."""

    name = "parameter_server"
    title = "Train with a server: rank 0 keeps the parameters, the others compute gradients."
    takes = ("w", "gradient", "learning_rate", "steps")
    layout, roles = "star", {0: "server"}
    rounding_terms = 256
    deadlock_hint = (
        "in each step rank 0 sends to all workers and then receives from all; a worker receives "
        "once and sends once; after the last step everybody fetches once more"
    )
    price_hints: ClassVar[Mapping[str, str]] = {
        "too-many-rounds": "send to all workers before you receive from the first: they can "
        "compute at the same time",
        "too-many-messages": "a step needs one message to each worker and one from each, and the "
        "end one more to each",
    }

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with a few steps, then gradients whose sum tells who is in it."""
        yield _case(4, "3 steps, gradients that depend on w", "affine", 3)
        for size in SIZES:
            yield _case(size, f"1 step, worker r has the gradient {size}**(r - 1)", "weights", 1)
        yield _case(4, "no step at all", "affine", 0)
        for number, size in enumerate(SIZES):
            for n, steps, rendezvous, stagger, dtype in (
                (5, 4, False, True, "float64"),
                (1, 2, True, False, "float32"),
                (3000, 2, False, False, "float64"),
            ):
                yield Case(
                    size, f"{steps} steps, {n:,} parameters, random {dtype}", seed=secret + number,
                    calls=2 if n == 5 else 1, rendezvous=rendezvous, stagger=stagger,
                    settings={"kind": "affine", "n": n, "steps": steps, "dtype": dtype},
                )  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Give the parameters to the server, and a gradient to each worker."""
        shared = case.rng(case.workers, call)  # no rank has this number: the same for all
        n, steps, dtype = (case.settings[key] for key in ("n", "steps", "dtype"))
        start = np.arange(1.0, n + 1) if case.seed == 0 else shared.normal(size=n)
        rate = 0.25 if case.seed == 0 else float(shared.uniform(0.01, 0.05))
        w = start.astype(dtype) if rank == 0 else None
        return w, None if rank == 0 else _gradient(case, rank, call), rate, steps

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Descend on one process."""
        return [_descend(arguments)] * case.workers

    def scale(self, case: Case, arguments: Given) -> Any:
        """Take the largest number on the way."""
        w, _, rate, _ = arguments[0]
        pushed = [np.abs(gradient(w)).max() for _, gradient, *_ in arguments[1:]]
        return float(np.abs(w).max() + rate * sum(pushed))

    def compare(self, case: Case, arguments: Given, got: Sequence[Any]) -> Difference | None:
        """Compare with one process, and the ranks with each other: to the last bit."""
        return super().compare(case, arguments, got) or differing_bits(got, "parameters")

    def price(self, case: Case) -> Price:
        """Fetch and push in each step, and fetch once more."""
        workers, steps = case.workers - 1, case.settings["steps"]
        n_bytes = case.settings["n"] * np.dtype(case.settings["dtype"]).itemsize
        messages = workers * (2 * steps + 1)
        out = workers * (steps + 1) * n_bytes
        return Price(messages, messages * n_bytes, out, rounds=2 * steps + 1)

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        size, workers = case.workers, case.workers - 1
        w, _, rate, steps = arguments[0]
        right = _descend(arguments)

        def other(rate: float = rate, steps: int = steps) -> Vector:
            return _descend([(w, None, rate, steps), *arguments[1:]])

        for hint_id, text, values in (
            ("not-updated", "these are the parameters of the start: where is the update?", w),
            ("mean", "this steps by the mean of the gradients: the sum is asked for",
             other(rate / workers)),
            ("mean", "divided by the number of ranks: the sum of the gradients is asked for",
             other(rate / size)),
            ("wrong-sign", "this climbs: subtract the gradients", other(-rate)),
            ("no-rate", "multiply the sum of the gradients by learning_rate", other(1.0)),
            ("one-step-more", "one step too many: range(steps)", other(steps=steps + 1)),
            ("one-step-less", "one step is missing: range(steps)", other(steps=steps - 1)),
            ("stale", "all gradients were computed with the parameters of the start: fetch in "
             "every step", _descend_stale(arguments)),
            ("answers-early", "a worker computed with parameters that another's gradient of the "
             "same step had changed: wait for all pushes before you update",
             _one_after_the_other(arguments)),
            ("sum-goes-on", "the sum begins at zero in each step: gradients of the step before are "
             "in it", _sum_goes_on(arguments)),
            ("steps-alone", "the workers went on from parameters of their own: each step begins "
             "with a fetch, and the server alone steps", _steps_alone(arguments)),
            ("old-parameters-sent", "the workers are one step behind: update first, then send",
             _one_step_behind(arguments)),
        ):  # fmt: skip
            yield Mistake(hint_id, text, [values] * size)
        for rank in range(1, size):
            for times, fate in ((0, "are missing"), (2, "were added twice")):
                values = _descend(arguments, {rank: times})
                yield Mistake("wrong-sum", f"the gradients of rank {rank} {fate}", [values] * size)
            only = _descend(arguments, {r: int(r == rank) for r in range(1, size)})
            yield Mistake("wrong-sum", f"the gradient of rank {rank} is alone in the sum: add, "
                          "where one now replaces the other", [only] * size)  # fmt: skip
        served, answered = _impatient(arguments)
        for values in ([served, *answered], [served] * size):
            yield Mistake(
                "answers-early",
                "a worker was answered before all gradients of the step "
                "were in: receive from all, update, and only then send",
                values,
            )
        before = other(steps=max(0, steps - 1))
        yield Mistake("no-last-fetch", "the workers return the parameters from before the last "
                      "step: fetch once more after the loop, and return what that brings",
                      [right] + [before] * workers)  # fmt: skip
        yield Mistake(
            "own-step", "a worker does not take the step: the server does, and sends the result",
            [right, *(before - rate * gradient(before) for _, gradient, *_ in arguments[1:])],
        )  # fmt: skip

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Decode whose gradients are in the first wrong parameters."""
        if wrong.where == "bits":
            return Hint("last-bits", "let one rank add up, and send what it has to all others")
        if (
            case.settings["kind"] != "weights"
            or wrong.rank is None
            or "should be" not in wrong.says
        ):
            return None
        w, _, rate, _ = arguments[0]
        if not all(np.array_equal(value, got[0]) for value in got):
            return None  # some ranks have other parameters: that says more than the sum
        workers = case.workers - 1
        found = fingerprint.counts(float((w[0] - got[0][0]) / rate), workers)
        if found is None or found == [1] * workers:
            return None
        told = fingerprint.describe([0, *found], [0] + [1] * workers, "gradients")
        return Hint("wrong-sum", told)

    def explain_mishap(self, case: Case, kind: str, text: str) -> Hint | None:
        """Notice a server that computes, and a worker that has not fetched."""
        if "'NoneType' object is not callable" in text:
            return Hint("server-computes", "rank 0 only serves: it has no gradient, so it must not "
                        "call it")  # fmt: skip
        if "NoneType" in text:
            return Hint("not-fetched", "w is None on the workers: only rank 0 has the parameters, "
                        "until it sends them")  # fmt: skip
        return None


def _case(size: int, label: str, kind: str, steps: int) -> Case:
    return Case(size, label, calls=1,
                settings={"kind": kind, "n": 3, "steps": steps, "dtype": "float64"})  # fmt: skip


def _gradient(case: Case, rank: int, call: int) -> Gradient:
    n, dtype = case.settings["n"], case.settings["dtype"]
    if case.settings["kind"] == "weights":
        constant = np.full(n, float(fingerprint.weight(rank - 1, case.workers - 1)))
        return lambda _: constant.copy()
    rng = case.rng(rank, call)
    slope, offset = rng.uniform(0.5, 1.5, size=n).astype(dtype), rng.normal(size=n).astype(dtype)
    return lambda w: slope * w + offset


def _descend(arguments: Given, counted: Mapping[int, int] = MappingProxyType({})) -> Vector:
    """Descend on one process; ``counted`` says whose gradients count other than once."""
    w, _, rate, steps = arguments[0]
    for _ in range(steps):
        total = sum(
            counted.get(rank, 1) * gradient(w)
            for rank, (_, gradient, *_) in enumerate(arguments[1:], start=1)
        )
        w = (w - rate * total).astype(w.dtype)
    return np.array(w)


def _descend_stale(arguments: Given) -> Vector:
    w, _, rate, steps = arguments[0]
    total = sum(gradient(w) for _, gradient, *_ in arguments[1:])
    return np.asarray(w - rate * steps * total)


def _one_after_the_other(arguments: Given) -> Vector:
    w, _, rate, steps = arguments[0]
    for _ in range(steps):
        for _, gradient, *_ in arguments[1:]:
            w = w - rate * gradient(w)
    return np.array(w)


def _impatient(arguments: Given) -> tuple[Vector, list[Vector]]:
    """Update for each gradient and answer its worker at once; give what each has at the end."""
    w, _, rate, steps = arguments[0]
    answered = [w] * len(arguments[1:])
    for _ in range(steps):
        for index, (_, gradient, *_) in enumerate(arguments[1:]):
            w = answered[index] = w - rate * gradient(answered[index])
    return w, answered


def _sum_goes_on(arguments: Given) -> Vector:
    w, _, rate, steps = arguments[0]
    total = np.zeros_like(w)
    for _ in range(steps):
        total = total + sum(gradient(w) for _, gradient, *_ in arguments[1:])
        w = w - rate * total
    return np.array(w)


def _steps_alone(arguments: Given) -> Vector:
    w, _, rate, steps = arguments[0]
    total = np.zeros_like(w)
    for _, gradient, *_ in arguments[1:]:
        alone = w
        for _ in range(steps):
            total, alone = total + gradient(alone), alone - rate * gradient(alone)
    return np.array(w - rate * total)


def _one_step_behind(arguments: Given) -> Vector:
    w, _, rate, steps = arguments[0]
    fetched = w
    for _ in range(steps):
        total = sum(gradient(fetched) for _, gradient, *_ in arguments[1:])
        fetched, w = w, w - rate * total
    return np.array(w)


TASK = ParameterServer()
