"""The order of a rank's actions in 1F1B: it is carried out, and shown where it stops or idles."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np

from course_lib.checks.comparator import Difference, first_difference
from course_lib.checks.plain import plain
from course_lib.checks.task import Case, Given, Hint, Price, Task
from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.comm.simulated.networks import DEFAULT
from course_lib.pipelines import one_f_one_b

__all__ = ["TASK", "carry_out"]

_SECONDS = {"F": 1e-3, "B": 2e-3}
_SPEED = DEFAULT.speeds(1)[0]
_SLOPE = np.ones(1)

Orders = Sequence[Sequence[str]]


class Order1F1B(Task):
    """Every rank's actions, as fast as 1F1B and with no more micro-batches held."""

    name = "order_1f1b"
    title = "Order the forward and backward passes of one rank, so that few are held and none wait."
    takes = ("rank", "ranks", "microbatches")
    carried_out = True
    fresh = False
    verbs = ()
    enough = "loops over micro-batches are enough"
    forbidden = ("course_lib.pipelines", "course_lib.schemes", "course_lib.lectures")
    nested_run_hint = "the check carries the order out: return a list of actions, and leave out run"
    layout = "line"
    deadlock_hint = (
        "these orders wait for each other: B of a rank needs B of the next rank, and F needs F of "
        "the rank before. How many F must each rank do before its first B can be there?"
    )
    price_hints: ClassVar[Mapping[str, str]] = {
        "too-long": "the order can be carried out and holds little, but ranks are idle that need "
        "not be. Play it: which rank waits for a B while it could go forward? How many F can it do "
        "before its first B can be there?",
    }

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with the lecture's four ranks; the last are unforeseen."""
        rng = np.random.default_rng([secret, 71])
        drawn = [(int(rng.integers(2, 7)), int(rng.integers(1, 14))) for _ in range(2)]
        for P, M in ((4, 8), (2, 4), (1, 3), (3, 5), (4, 2), (5, 5), (3, 1), (8, 10), *drawn):
            yield Case(P, f"{M} micro-batches", calls=1, settings={"microbatches": M})

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Ask for this rank's order."""
        return rank, case.workers, case.settings["microbatches"]

    def call(self, fn: Callable[..., Any], comm: Any, arguments: tuple[Any, ...]) -> Any:
        """Ask for the orders of all ranks, and carry them out if each is complete."""
        rank, ranks, microbatches = arguments
        orders = [plain(fn(r, ranks, microbatches)) for r in range(ranks)]
        if _fault(orders, microbatches) is None:
            carry_out(comm, orders[rank])
        return orders[rank]

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Take the library's orders."""
        return [list(order) for order in _right(*arguments[0][1:])]

    def compare(self, case: Case, arguments: Given, got: Sequence[Any]) -> Difference | None:
        """Take any order that is complete and holds no more than it must."""
        right, M = self.expected(case, arguments), arguments[0][2]
        fault = _fault(got, M) or _held_too_many(got, M)
        if fault is None:
            return None
        rank, says, _ = fault
        wrong = first_difference([right[rank]], [got[rank]])
        shown = " ".join(got[rank]) if _is_list_of_actions(got[rank]) else str(got[rank])
        if wrong is not None and not _is_list_of_actions(got[rank]):
            return wrong._replace(rank=rank)
        enough = min(M, len(got) - rank)
        expected = f"each of F0 to F{M - 1} and B0 to B{M - 1} once; {enough} held at most"
        return Difference(f"rank {rank}: {says}", expected, shown, rank=rank)

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Say what is missing, too much, or too early."""
        M = arguments[0][2]
        fault = _fault(got, M) or _held_too_many(got, M)
        return None if fault is None else fault[2]

    def price(self, case: Case) -> Price:
        """Send an activation and a slope over each cut for each micro-batch."""
        P, M = case.workers, case.settings["microbatches"]
        n = 2 * M * (P - 1)
        busiest = M * (2 if P > 2 else 1) * (P > 1)
        return Price(n, 8 * n, 8 * busiest, _right_s(P, M))

    def budget(self, case: Case) -> Price:
        """Let another order that is as good take a microsecond more."""
        price = self.price(case)
        return price._replace(seconds=(price.seconds or 0.0) + 1e-6)

    def explain_mishap(self, case: Case, kind: str, text: str) -> Hint | None:
        """Notice neighbours that take micro-batches in different orders."""
        if kind == "MessageMismatchError":
            return Hint("other-order", "neighbours must take micro-batches in the same order: the "
                        "one before sends 0, 1, 2 …, and slopes come back like that (a message's "
                        "tag is the action that it is for)")  # fmt: skip
        return None


def carry_out(comm: Communicator, order: Sequence[str]) -> None:
    """Do the actions of one rank in their order: wait for what each needs, and send it on.

    Parameters
    ----------
    comm : Communicator
        The ranks; each is a stage.
    order : sequence of str
        ``"F3"`` is forward with micro-batch 3, ``"B3"`` the way back.
    """
    for action in order:
        kind = action[0]
        src, dst = (comm.rank - 1, comm.rank + 1)[:: 1 if kind == "F" else -1]
        if 0 <= src < comm.size:
            comm.recv(src, tag=action)
        word = "forward" if kind == "F" else "backward"
        with comm.compute(f"{word} {action}", flops=_SECONDS[kind] * _SPEED):
            pass
        if 0 <= dst < comm.size:
            comm.send(_SLOPE, dst, tag=action)


def _is_list_of_actions(order: Any) -> bool:
    return isinstance(order, list) and all(isinstance(action, str) for action in order)


def _fault(orders: Sequence[Any], M: int) -> tuple[int, str, Hint] | None:
    """Find a rank whose order is not one: rank, sentence, hint."""
    wanted = {f"{kind}{m}" for kind in "FB" for m in range(M)}
    for rank, order in enumerate(orders):
        if not _is_list_of_actions(order):
            text = 'return a list of texts such as ["F0", "B0"]: the pass, and the micro-batch'
            return rank, "no list of texts", Hint("list-of-actions", text)
        counts = Counter(order)
        if unknown := [action for action in order if action not in wanted]:
            text = f"with {M} micro-batches the actions are F0 to F{M - 1} and B0 to B{M - 1}"
            return rank, f"{unknown[0]!r} is no action", Hint("unknown-action", text)
        if missing := sorted(wanted - set(order)):
            text = "every micro-batch goes forward once and back once: what becomes of the last "
            text += "ones after the turns, and where there are fewer micro-batches than ranks?"
            return rank, f"{missing[0]} is missing", Hint("missing-action", text)
        if twice := [action for action in order if counts[action] > 1]:
            text = "every micro-batch goes forward once and back once"
            return rank, f"{twice[0]} is there twice", Hint("twice", text)
        for m in range(M):
            if order.index(f"B{m}") < order.index(f"F{m}"):
                text = "going back needs the activations that the rank's own forward pass keeps"
                return rank, f"B{m} comes before F{m}", Hint("back-before-forward", text)
    return None


def _held_too_many(orders: Orders, M: int) -> tuple[int, str, Hint] | None:
    """Find a rank that holds more than 1F1B does."""
    for rank, order in enumerate(orders):
        held = most = 0
        for action in order:
            held += 1 if action[0] == "F" else -1
            most = max(most, held)
        enough = min(M, len(orders) - rank)
        if most > enough:
            says = f"it holds {most} micro-batches at once, where {enough} are enough"
            if most == M > enough:
                text = "all go forward before one comes back, as in GPipe: take turns as soon as "
                text += "the first can be back"
                return rank, says, Hint("as-gpipe", text)
            text = "how many F can rank r do before its first B can be there? From then on it "
            text += "takes turns, so that it holds no more"
            return rank, says, Hint("lets-in-too-many", text)
    return None


@cache
def _right(P: int, M: int) -> tuple[tuple[str, ...], ...]:
    orders = one_f_one_b(P, M).orders
    return tuple(tuple(f"{a.kind}{a.microbatch}" for a in order) for order in orders)


@cache
def _right_s(P: int, M: int) -> float:
    return run(_carry_out_right, M, workers=P, backend="simulated", network=DEFAULT).elapsed_s


def _carry_out_right(comm: Communicator, M: int) -> None:
    carry_out(comm, _right(comm.size, M)[comm.rank])


TASK = Order1F1B()
