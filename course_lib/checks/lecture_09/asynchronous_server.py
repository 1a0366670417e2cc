"""A whole asynchronous server: step with whatever comes, answer whoever has pushed."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from course_lib.checks.comparator import Difference, differing_bits
from course_lib.checks.task import Case, Given, Hint, Mistake, Price, Task
from course_lib.comm.simulated.network import Network

__all__ = ["TASK"]

Vector = NDArray[Any]

SIZES = (4, 2, 3, 5, 7, 8)
SLOT_S = 0.01
"""Pushes arrive so far apart; all messages of a run together take less than a tenth of it."""
_FLOPS_PER_S = 1e9
_NETWORK = Network("whose gradients take what the case says", 2e-6, 1e10, _FLOPS_PER_S)


class _Gradient(NamedTuple):
    """A worker's gradient, and how long it takes each time."""

    slope: Vector
    shift: Vector
    paces: list[float]

    def __call__(self, w: Vector) -> Vector:
        return self.slope * w + self.shift


class AsynchronousServer(Task):
    """Rank 0 serves, the others compute, each at its own pace."""

    name = "asynchronous_server"
    title = "Train without waiting: step with whatever gradient comes, as soon as it comes."
    takes = ("w", "gradient", "learning_rate", "steps")
    layout, roles = "star", {0: "server"}
    rounding_terms = 256
    deadlock_hint = (
        "who waits for what? Count for one worker how often it receives parameters, and how often "
        "rank 0 sends them to it: at the start, for each push, at the end"
    )
    price_hints: ClassVar[dict[str, str]] = {
        "too-many-messages": "no fetch: a push is the question. It needs one message, and an "
        "answer; the last push of a worker is answered by the parameters of the end",
    }

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with a straggler, then random orders; with more workers, and with one."""
        yield _case(4, "a straggler", 2, [1, 2, 1, 2, 3, 3])
        yield _case(4, "all take turns", 2, [1, 2, 3, 1, 2, 3])
        yield _case(4, "they come from the last to the first", 2, [3, 2, 1, 3, 2, 1])
        for number, size in enumerate(SIZES):
            for steps, n, dtype in ((1, 4, "float64"), (3, 5, "float32"), (4, 700, "float64")):
                seed = secret + number
                order = np.repeat(np.arange(1, size), steps)
                Case(size, "", seed=seed).rng(steps, 0).shuffle(order)
                yield Case(
                    size, f"{steps} pushes each, {n} parameters, random order, {dtype}", seed=seed,
                    calls=1, rendezvous=n == 700, network=_NETWORK,
                    settings={"n": n, "steps": steps, "dtype": dtype, "order": order.tolist()},
                )  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Give the parameters to the server, and a gradient with its times to each worker."""
        shared = case.rng(case.workers, call)
        n, steps, dtype = (case.settings[key] for key in ("n", "steps", "dtype"))
        start = np.arange(1.0, n + 1) if case.seed == 0 else shared.normal(size=n)
        rate = 0.25 if case.seed == 0 else float(shared.uniform(0.05, 0.2))
        if rank == 0:
            return start.astype(dtype), None, rate, steps
        rng = case.rng(rank, call)
        slope, shift = rng.uniform(0.5, 1.5, size=n), rng.normal(size=n)
        own = [
            number for number, of_rank in enumerate(case.settings["order"], 1) if of_rank == rank
        ]
        paces = [SLOT_S * (b - a) for a, b in zip([0, *own], own, strict=False)]
        return None, _Gradient(slope.astype(dtype), shift.astype(dtype), paces), rate, steps

    def call(self, fn: Callable[..., Any], comm: Any, arguments: tuple[Any, ...]) -> Any:
        """Let each gradient take so long that pushes come in the case's order."""
        w, gradient, rate, steps = arguments
        if gradient is None:
            return fn(comm, w, None, rate, steps)
        paces = iter(gradient.paces)

        def timed(w: Vector) -> Vector:
            with comm.compute("gradient", flops=next(paces, SLOT_S) * _FLOPS_PER_S):
                result: Vector = gradient(w)
                return result

        return fn(comm, w, timed, rate, steps)

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Follow the order on one process."""
        return [_follow(arguments, case.settings["order"])] * case.workers

    def scale(self, case: Case, arguments: Given) -> Any:
        """Take the largest number on the way."""
        w, _, rate, steps = arguments[0]
        pushed = [np.abs(gradient(w)).max() for _, gradient, *_ in arguments[1:]]
        return float(np.abs(w).max() + rate * max(steps, 1) * sum(pushed))

    def compare(self, case: Case, arguments: Given, got: Sequence[Any]) -> Difference | None:
        """Compare with one process, and the ranks with each other: to the last bit."""
        return super().compare(case, arguments, got) or differing_bits(got, "parameters")

    def price(self, case: Case) -> Price:
        """Send to all, answer each push, send to all."""
        workers, steps = case.workers - 1, case.settings["steps"]
        n_bytes = case.settings["n"] * np.dtype(case.settings["dtype"]).itemsize
        out = workers * (steps + 1)
        return Price(out + workers * steps, (out + workers * steps) * n_bytes, out * n_bytes)

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        size, workers, order = case.workers, case.workers - 1, case.settings["order"]
        w, _, rate, steps = arguments[0]
        right = _follow(arguments, order)
        in_rank_order = list(range(1, size)) * steps
        last_of = {rank: number for number, rank in enumerate(order)}
        all_but_last = [r for number, r in enumerate(order) if number != last_of[r]]
        for hint_id, text, values in (
            ("not-updated", "these are the parameters of the start: where is the update?", w),
            ("mean", "divided by the number of workers: each gradient is a step of its own, with "
             "the whole learning_rate", _follow(arguments, order, rate / workers)),
            ("mean", "divided by the number of ranks: each gradient is a step of its own, with the "
             "whole learning_rate", _follow(arguments, order, rate / size)),
            ("wrong-sign", "this climbs: subtract the gradients", _follow(arguments, order, -rate)),
            ("no-rate", "multiply each gradient by learning_rate", _follow(arguments, order, 1.0)),
            ("waits-in-rank-order", "the server listens to one worker after the other: take "
             "whoever comes first, recv_any()", _follow(arguments, in_rank_order)),
            ("waits-for-all", "the server waits for all workers before it answers the first: that "
             "is the synchronous one", _in_steps(arguments, order, at_once=True)),
            ("waits-for-all", "the server makes an update for each gradient, but answers when it "
             "has all of them: answer each at once", _in_steps(arguments, order)),
            ("old-parameters-sent", "workers are answered with the parameters from before their "
             "own push: update first, then send", _follow(arguments, order, answer="before")),
            ("fetches-once", "all gradients were computed with the parameters of the start: a "
             "worker receives before each gradient", _follow(arguments, order, answer="never")),
            *_of_parameters(arguments, order),
            ("one-push-less", "the last push of each worker is missing",
             _follow(arguments, all_but_last)),
            ("one-push-less", "the last push of all is missing: the server takes workers * steps",
             _follow(arguments, order[:-1])),
            ("only-so-many", "the server ends after so many pushes as one worker makes: it takes "
             "workers * steps of them", _follow(arguments, order[:steps])),
        ):  # fmt: skip
            yield Mistake(hint_id, text, [values] * size)
        after_own = [_follow(arguments, order[: last_of[rank] + 1]) for rank in range(1, size)]
        yield Mistake("no-last-fetch", "a worker has the parameters of its own last push, not of "
                      "the end: send to all once more", [right, *after_own])  # fmt: skip
        for rank in range(1, size):
            others = [each for each in order if each != rank]
            yield Mistake("one-is-missing", f"the pushes of rank {rank} are missing",
                          [_follow(arguments, others)] * size)  # fmt: skip

    def explain_mishap(self, case: Case, kind: str, text: str) -> Hint | None:
        """Notice a server that computes, and a worker that has not fetched."""
        if "unhashable type: 'numpy.ndarray'" in text or ("dst must" in text and "array" in text):
            return Hint("rank-first", "recv_any returns the rank first, then what it has sent: "
                        "src, gradient = comm.recv_any()")  # fmt: skip
        if "rank 0 has already returned" in text:
            workers, steps = case.workers - 1, case.settings["steps"]
            text = f"rank 0 has returned, and a worker still waits. {workers} workers make {steps} "
            text += f"pushes each: does the server take all {workers * steps}? And does each "
            text += f"worker receive {steps + 1} times?"
            return Hint("returns-early", text)
        if "'NoneType' object is not callable" in text:
            return Hint("server-computes", "rank 0 only serves: it has no gradient, so it must not "
                        "call it")  # fmt: skip
        if "NoneType" in text:
            return Hint("not-fetched", "w is None on the workers: only rank 0 has the parameters, "
                        "until it sends them")  # fmt: skip
        return None


def _case(size: int, label: str, steps: int, order: list[int]) -> Case:
    settings = {"n": 3, "steps": steps, "dtype": "float64", "order": order}
    return Case(size, label, calls=1, network=_NETWORK, settings=settings)


def _follow(
    arguments: Given, order: Sequence[int], rate: float | None = None, answer: str = "after"
) -> Vector:
    """Push in this order; each worker reads after its own push, before it, or never again."""
    w, _, given, _ = arguments[0]
    rate = given if rate is None else rate
    read = dict.fromkeys(range(1, len(arguments)), w)
    for rank in order:
        before, gradient = w, arguments[rank][1]
        w = (w - rate * gradient(read[rank])).astype(w.dtype)
        if answer != "never":
            read[rank] = w if answer == "after" else before
    return np.array(w)


def _of_parameters(arguments: Given, order: Sequence[int]) -> list[tuple[str, str, Vector]]:
    """Push parameters in place of gradients."""
    text = "a worker pushes its gradient, not parameters: "
    return [
        ("pushes-parameters", text + "the server makes the step",
         _with_parameters(arguments, order)),
        ("pushes-parameters", text + "whoever comes last would undo the others' steps",
         _with_parameters(arguments, order, adopts=True)),
    ]  # fmt: skip


def _with_parameters(arguments: Given, order: Sequence[int], adopts: bool = False) -> Vector:
    """Push parameters after a step of one's own; the server adds them, or takes them over."""
    w, _, rate, _ = arguments[0]
    read = dict.fromkeys(range(1, len(arguments)), w)
    for rank in order:
        pushed = read[rank] - rate * arguments[rank][1](read[rank])
        w = (pushed if adopts else w - rate * pushed).astype(w.dtype)
        read[rank] = w
    return np.array(w)


def _in_steps(arguments: Given, order: Sequence[int], at_once: bool = False) -> Vector:
    """Wait for a push of everybody, then answer all; add up at once, or in the order of pushes."""
    w, _, rate, steps = arguments[0]
    first = list(dict.fromkeys(order))
    for _ in range(steps):
        pushed = {rank: arguments[rank][1](w) for rank in first}
        if at_once:
            w = (w - rate * sum(pushed[rank] for rank in sorted(pushed))).astype(w.dtype)
        else:
            for rank in first:
                w = (w - rate * pushed[rank]).astype(w.dtype)
    return np.array(w)


TASK = AsynchronousServer()
