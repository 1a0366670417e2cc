"""A rank's order, carried out with messages: what goes down, and what comes back."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from course_lib.checks.comparator import Difference
from course_lib.checks.task import Case, Given, Hint, Mistake, Price, Task
from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.comm.simulated.networks import DEFAULT
from course_lib.pipelines import gpipe, one_f_one_b

_SECONDS = {"F": 1e-3, "B": 2e-3}
_SPEED = DEFAULT.speeds(1)[0]
_MAKERS = {"gpipe": gpipe, "1f1b": one_f_one_b}
_LENGTH = 5

Array = NDArray[np.float64]


class RunOrder(Task):
    """Every rank follows its order, gets what it needs and sends on what it makes."""

    name = "run_order"
    title = "Carry out a rank's order with messages, so that no rank waits for one that sends."
    takes = ("order", "forward", "backward", "inputs")
    fresh = False
    verbs = ("send", "recv", "isend", "irecv")
    enough = "recv and isend are enough"
    forbidden = (*Task.forbidden, "course_lib.pipelines", "course_lib.lectures")
    rounding_terms = 64
    layout = "line"
    deadlock_hint = (
        "in 1F1B a rank sends forward while its neighbour sends back: if both wait until they are "
        "received, nobody receives. isend returns at once; wait for it later"
    )
    price_hints: ClassVar[dict[str, str]] = {
        "too-many-messages": "one message over each cut and micro-batch, in each direction",
        "too-many-bytes": "send what forward and backward have returned, and nothing else",
        "too-long": "the result is right, but ranks wait: send what was made at once, before the "
        "next action",
    }

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with 1F1B; then GPipe, one rank, and sends that wait for their receive."""
        for number, (P, M, kind, waits) in enumerate((
            (4, 8, "1f1b", False), (4, 8, "gpipe", False), (2, 3, "1f1b", True),
            (1, 4, "1f1b", False), (3, 5, "1f1b", True), (3, 2, "gpipe", False),
            (5, 7, "1f1b", False), (4, 6, "gpipe", True), (2, 1, "1f1b", False),
            (2, 12, "1f1b", False),
        )):  # fmt: skip
            yield Case(P, f"{M} micro-batches in the order of {kind}", calls=1, rendezvous=waits,
                       stagger=waits, seed=secret + number if number else 0,
                       settings={"microbatches": M, "kind": kind})  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Make the rank's order, and the examples where the first stage is."""
        M, kind = case.settings["microbatches"], case.settings["kind"]
        order = list(_orders(kind, case.workers, M)[rank])
        rng = case.rng(0, call)
        drawn = [np.round(rng.normal(size=_LENGTH), 3) for _ in range(M)]
        return order, None, None, [] if rank else drawn

    def call(self, fn: Callable[..., Any], comm: Any, arguments: tuple[Any, ...]) -> Any:
        """Hand out a stage that notes what was asked of it."""
        order, _, _, inputs = arguments
        stage = _Stage(comm)
        slopes = fn(comm, order, stage.forward, stage.backward, inputs)
        return {"slopes": slopes, "done": stage.done}

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Go through the stages one after the other."""
        outputs = _outputs(case.workers, arguments[0][3])
        back: list[Any] = [None] * len(arguments[0][3])
        values: list[Any] = []
        for rank in reversed(range(case.workers)):
            back = [_backward(rank, m, y, back[m]) for m, y in enumerate(outputs[rank])]
            values.insert(0, {"slopes": back, "done": arguments[rank][0]})
        return values

    def scale(self, case: Case, arguments: Given) -> Any:
        """Take a number as large as what the last stage makes."""
        return float(10 * 3.0 ** (2 * case.workers))

    def price(self, case: Case) -> Price:
        """Send an activation and a slope over each cut for each micro-batch."""
        P, M = case.workers, case.settings["microbatches"]
        n, n_bytes = 2 * M * (P - 1), 8 * _LENGTH
        busiest = M * (2 if P > 2 else 1) * (P > 1)
        seconds = _reference_s(case.settings["kind"], P, M)
        return Price(n, n * n_bytes, busiest * n_bytes, seconds)

    def budget(self, case: Case) -> Price:
        """Let a rank wait for a microsecond: for small messages plain sends are as good."""
        price = self.price(case)
        return price._replace(seconds=(price.seconds or 0.0) + 1e-6)

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise slopes in another order, and outputs in their place."""
        right = self.expected(case, arguments)
        if case.settings["microbatches"] > 1:
            yield Mistake(
                "by-microbatch",
                "these are the right slopes, the last micro-batch "
                "first: the list begins with micro-batch 0",
                [{**value, "slopes": value["slopes"][::-1]} for value in right],
            )
        yield Mistake(
            "only-last",
            "one array stands for all: a slope for each micro-batch is asked for",
            [{**value, "slopes": value["slopes"][-1]} for value in right],
        )
        outputs = _outputs(case.workers, arguments[0][3])
        yield Mistake(
            "outputs",
            "this is what forward has returned: what backward has returned is asked for",
            [{**value, "slopes": made} for value, made in zip(right, outputs, strict=True)],
        )

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Look first at what was done, then at what came out."""
        for rank, (order, *_) in enumerate(arguments):
            _, done = _parts(got[rank])
            if done == order:
                continue
            if sorted(done) == sorted(order):
                return Hint("other-order", f"rank {rank} works in another order than it was given: "
                            "go through order from its first action to its last")  # fmt: skip
            return Hint("not-every-action", f"rank {rank} has done {len(done)} actions, "
                        f"{len(order)} were asked for: each once, with the number of its "
                        "micro-batch")  # fmt: skip
        slopes, _ = _parts(got[wrong.rank or 0])
        if slopes is None:
            return Hint("returns-none", "does every path through the function end in a return?")
        if not isinstance(slopes, list) or len(slopes) != case.settings["microbatches"]:
            return Hint("slope-each", "return a list: what backward has returned, by micro-batch")
        return Hint("wrong-numbers", "does forward get what the rank before has made of this "
                    "micro-batch, and backward the slope of the rank behind?")  # fmt: skip

    def explain_mishap(self, case: Case, kind: str, text: str) -> Hint | None:
        """Notice messages that were not sent, or to nobody, and what a stage refuses."""
        if kind == "DeadlockError" and not case.rendezvous:
            return Hint("who-sends", "a rank waits for a message that nobody has sent: what F "
                        "makes goes to the rank behind, a slope to the rank before, both as soon "
                        "as they are made; and each is received where an action needs it, not "
                        "before")  # fmt: skip
        if "dst must be" in text or "src must be" in text:
            return Hint("no-neighbour", "the first rank has nobody before it, the last nobody "
                        "behind: it calls backward(m, None)")  # fmt: skip
        if "is text" in text:
            return Hint("number", "what stands behind the letter is text: m = int(action[1:]) "
                        "makes it a number")  # fmt: skip
        if "has been forward already" in text:
            return Hint("once-each", "a micro-batch goes forward once; its number is all that "
                        "stands behind the letter: F12 is micro-batch 12")  # fmt: skip
        if "has not been forward" in text or "a slope is needed" in text:
            return Hint("what-a-stage-needs", "forward(m, x) before backward(m, slope); only the "
                        "last rank's slope is None")  # fmt: skip
        if "has the loss" in text:
            return Hint("last-has-the-loss", "the last rank has the loss, and nobody sends it a "
                        "slope: there it is backward(m, None)")  # fmt: skip
        return None


class _Stage:
    """A rank's part of a model: it takes its time, and notes what it is asked for."""

    def __init__(self, comm: Communicator) -> None:
        self.comm, self.done = comm, list[str]()
        self.outputs: dict[int, Array] = {}

    def forward(self, m: int, x: Array) -> Array:
        """Compute the outputs for micro-batch m."""
        _refuse_text(m)
        if f"F{m}" in self.done:
            raise ValueError(f"micro-batch {m} has been forward already on rank {self.comm.rank}")
        self._take_time("forward", f"F{m}")
        self.outputs[m] = _forward(self.comm.rank, m, x)
        return self.outputs[m].copy()

    def backward(self, m: int, slope: Array | None) -> Array:
        """Compute the slope in the inputs of micro-batch m."""
        _refuse_text(m)
        if m not in self.outputs:
            raise ValueError(f"micro-batch {m} has not been forward on rank {self.comm.rank}")
        if slope is None and self.comm.rank < self.comm.size - 1:
            raise ValueError(f"a slope is needed on rank {self.comm.rank}, got None")
        if slope is not None and self.comm.rank == self.comm.size - 1:
            raise ValueError(f"rank {self.comm.rank} has the loss: its slope must be None")
        self._take_time("backward", f"B{m}")
        return _backward(self.comm.rank, m, self.outputs.pop(m), slope)

    def _take_time(self, word: str, action: str) -> None:
        with self.comm.compute(f"{word} {action}", flops=_SECONDS[action[0]] * _SPEED):
            self.done.append(action)


def _refuse_text(m: Any) -> None:
    if isinstance(m, str):
        raise ValueError(f"a micro-batch is a whole number, and {m!r} is text")


def _parts(value: Any) -> tuple[Any, list[str]]:
    """Take apart what ``call`` has put together: the function's result, and what was done."""
    if not isinstance(value, dict) or not isinstance(value.get("done"), list):
        return None, []
    return value.get("slopes"), [str(action) for action in value["done"]]


def _outputs(P: int, xs: list[Array]) -> list[list[Array]]:
    """Return what each stage makes of each micro-batch."""
    outputs = []
    for rank in range(P):
        xs = [_forward(rank, m, x) for m, x in enumerate(xs)]
        outputs.append(xs)
    return outputs


def _forward(rank: int, m: int, x: Array) -> Array:
    return 2 * x + rank + 10 * m


def _backward(rank: int, m: int, outputs: Array, slope: Array | None) -> Array:
    return (outputs if slope is None else 3 * slope + outputs) + rank - m


@cache
def _orders(kind: str, P: int, M: int) -> tuple[tuple[str, ...], ...]:
    orders = _MAKERS[kind](P, M).orders
    return tuple(tuple(f"{a.kind}{a.microbatch}" for a in order) for order in orders)


@cache
def _reference_s(kind: str, P: int, M: int) -> float:
    ended = run(_follow, kind, M, workers=P, backend="simulated", network=DEFAULT)
    return ended.elapsed_s


def _follow(comm: Communicator, kind: str, M: int) -> None:
    """Send on at once what was made; receive when it is needed."""
    stage, x, going = _Stage(comm), np.zeros(_LENGTH), []
    for action in _orders(kind, comm.size, M)[comm.rank]:
        is_forward = action[0] == "F"
        src, dst = (comm.rank - 1, comm.rank + 1)[:: 1 if is_forward else -1]
        given, m = (comm.recv(src) if 0 <= src < comm.size else None), int(action[1:])
        if is_forward:
            made = stage.forward(m, x if given is None else given)
        else:
            made = stage.backward(m, given)
        if 0 <= dst < comm.size:
            going.append(comm.isend(made, dst))
    for message in going:
        message.wait()


TASK = RunOrder()
