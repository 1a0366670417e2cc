"""What a counter says after turns of cores that load and store."""

from collections.abc import Iterator, Sequence
from typing import Any

from course_lib.checks.comparator import Difference
from course_lib.checks.task import Case, Given, Hint, LocalTask, Mistake

__all__ = ["TASK", "after"]


class CounterAfter(LocalTask):
    """Follow the turns: load, store, load, store, of each core for itself."""

    name = "counter_after"
    title = "Say what a shared counter says in the end."
    takes = ("order",)
    enough = "counting is enough"

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with what can be followed by hand, and tells usual mistakes apart."""
        for label, order in (
            ("one after the other", [1, 1, 2, 2, 1, 1]),
            ("three cores, some interrupted", [1, 2, 3, 2, 2, 3, 3, 2, 3, 1]),
            ("both load, then both store", [1, 2, 1, 2]),
            ("one core, three times", [3, 3, 3, 3, 3, 3]),
            ("an old store", [2, 1, 1, 1, 1, 2]),
            ("nobody", []),
        ):
            yield _case(label, order)
        for number in range(5):
            rng = Case(1, "", seed=secret).rng(number, 0)
            cores = int(rng.integers(2, 6))
            each = rng.integers(1, 5, size=cores)
            turns = [core for core, n in enumerate(each, 1) for _ in range(2 * int(n))]
            yield _case(f"{cores} cores at random", [int(core) for core in rng.permutation(turns)])

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Hand over the turns, a list of its own."""
        return (list(case.settings["order"]),)

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Follow them."""
        return [after(arguments[0][0])]

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        (order,) = arguments[0]
        right = after(order)
        for hint_id, text, value in (
            ("nothing-lost", "this counts every addition: a store writes what its core has loaded, "
             "plus 1, whatever others have stored since", len(order) // 2),
            ("every-turn", "every second turn of a core is a load, which changes nothing",
             len(order)),
            ("what-is-lost", "this is how many are lost: the counter says how many are left",
             len(order) // 2 - right),
            ("loads-again", "a core loads anew before each addition: forget what it has stored",
             after(order, forgets=False)),
            ("anybodys-load", "each core stores what it has loaded itself, not what anybody has "
             "loaded last", _shared_load(order)),
            ("last-store", "the last store counts, not the largest one", _largest(order)),
            ("begins-at-0", "the counter begins at 0", right + 1),
        ):  # fmt: skip
            yield Mistake(hint_id, text, [value])

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice something other than a number."""
        number = isinstance(got[0], int | float) or getattr(got[0], "shape", None) == ()
        return None if number else Hint("one-number", "return one number: what the counter says")


def _case(label: str, order: list[int]) -> Case:
    return Case(1, label, calls=1, alone=True, settings={"order": order})


def after(order: Sequence[int], forgets: bool = True) -> int:
    """Follow turns; a core that does not forget goes on from what it has stored itself."""
    counter, loaded, stores = 0, dict[int, int](), set[int]()
    for core in order:
        if core in stores:
            loaded[core] += 1
            counter = loaded[core]
            stores.remove(core)
        else:
            loaded[core] = counter if forgets else loaded.get(core, counter)
            stores.add(core)
    return counter


def _shared_load(order: Sequence[int]) -> int:
    """Let all cores have one place for what was loaded."""
    counter, loaded, stores = 0, 0, set[int]()
    for core in order:
        if core in stores:
            counter = loaded + 1
            stores.remove(core)
        else:
            loaded = counter
            stores.add(core)
    return counter


def _largest(order: Sequence[int]) -> int:
    return max((after(order[:end]) for end in range(1, len(order) + 1)), default=0)


TASK = CounterAfter()
