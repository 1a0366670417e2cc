"""An order of turns after which a counter says as little as it can: two long interruptions."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from course_lib.checks.comparator import Difference
from course_lib.checks.lecture_10.counter_after import after
from course_lib.checks.plain import whole_numbers
from course_lib.checks.shown import show
from course_lib.checks.task import Case, Given, Hint, LocalTask

__all__ = ["LEAST", "TASK"]

LEAST = 2
"""What the counter says at least, where there are two cores and each adds twice or more often."""


class LosingOrder(LocalTask):
    """An order of the cores' turns, each as many as it has, with 2 in the end."""

    name = "losing_order"
    title = "Find an interleaving that loses as many updates as can be lost."
    takes = ("counts",)
    enough = "lists are enough"

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with few turns."""
        for counts in ([2, 2], [3, 3], [10, 10], [2, 5], [5, 2], [2, 2, 2], [4, 3, 6, 2]):
            yield _case(counts)
        for number in range(4):
            rng = Case(1, "", seed=secret).rng(number, 0)
            yield _case([int(n) for n in rng.integers(2, 9, size=int(rng.integers(2, 6)))])

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Hand over the counts, a list of its own."""
        return (list(case.settings["counts"]),)

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Give one; ``compare`` takes all others that lose as much."""
        return [_worst(arguments[0][0])]

    def compare(self, case: Case, arguments: Given, got: Sequence[Any]) -> Difference | None:
        """Count the turns, then follow them."""
        (counts,) = arguments[0]
        order, says = whole_numbers(got[0]), ""
        if order is None:
            says = "expected a list of whole numbers: whose turn it is"
        elif Counter(order) != Counter(_in_a_row(counts)):
            says = f"expected twice as many turns of each core as it has additions: {_told(counts)}"
        elif after(order) != LEAST:
            says = f"the counter says {after(order)} in the end, and {LEAST} can be"
        if not says:
            return None
        return Difference(says, f"for example {show(_worst(counts))}", show(got[0]))

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Name the kind of mistake."""
        (counts,) = arguments[0]
        order = whole_numbers(got[0])
        if order is None:
            return Hint("wrong-form", "return a list: the number of a core for each turn")
        if Counter(order) != Counter(_in_a_row(counts)):
            return _wrong_turns(order, counts)
        said = after(order)
        if said == sum(counts):
            return Hint("nothing-lost", "nobody is interrupted between load and store here: let a "
                        "core load, then others, before it stores")  # fmt: skip
        if order[0] == order[-1]:
            return Hint("one-core-twice", "the core that is interrupted first is not the one that "
                        "stores last: its additions in between stay")  # fmt: skip
        if said == max(counts):
            return Hint("in-step", "all load and all store together: of each round one addition is "
                        "left. One old store can throw away many rounds")  # fmt: skip
        return Hint("second-interruption", "after the old store somebody else loads, and is "
                    "interrupted until all others have ended")  # fmt: skip


def _case(counts: list[int]) -> Case:
    label = f"{_told(counts)} additions"
    return Case(1, label, calls=1, alone=True, settings={"counts": counts})


def _told(counts: Sequence[int]) -> str:
    return ", ".join(map(str, counts))


def _wrong_turns(order: list[int], counts: Sequence[int]) -> Hint:
    cores = range(1, len(counts) + 1)
    if set(order) == {core - 1 for core in cores}:
        return Hint("cores-from-1", "cores are counted from 1")
    if not set(order) <= {*cores}:
        return Hint("unknown-core", f"there are cores 1 to {len(counts)} only")
    if Counter(order) == Counter(core for core, n in enumerate(counts, 1) for _ in range(n)):
        return Hint("two-turns-each", "an addition is two turns: a load, and a store")
    if set(order) < {*cores}:
        return Hint("all-cores", "every core has turns: none may be left out")
    return Hint("wrong-number", "count the turns of each core: two for each addition, no more")


def _in_a_row(counts: Sequence[int]) -> list[int]:
    return [core for core, n in enumerate(counts, 1) for _ in range(2 * n)]


def _worst(counts: Sequence[int]) -> list[int]:
    """Let core 2 load a 0 and store late; let core 1 load what it stored, and store last."""
    others = [core for core, n in enumerate(counts[2:], 3) for _ in range(2 * n)]
    early = [1] * (2 * counts[0] - 2) + others
    return [2, *early, 2, 1, *[2] * (2 * counts[1] - 2), 1]


TASK = LosingOrder()
