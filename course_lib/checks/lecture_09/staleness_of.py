"""How old every gradient is, from the order of the pushes alone."""

from collections.abc import Iterator, Sequence
from typing import Any

from course_lib.checks.comparator import Difference, as_list
from course_lib.checks.task import Case, Given, Hint, LocalTask, Mistake

__all__ = ["TASK"]


class StalenessOf(LocalTask):
    """For each push, how many others were applied since the same replica's push before."""

    name = "staleness_of"
    title = "Say how old each gradient is when it lands."
    takes = ("order",)
    enough = "counting is enough"
    empty_results = True

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with what can be counted by hand."""
        for label, order in (
            ("two replicas", [1, 2, 2, 1, 1, 2]),
            ("three that take turns", [1, 2, 3, 1, 2, 3, 1, 2, 3]),
            ("one replica", [4, 4, 4]),
            ("a straggler that comes once", [1, 2, 1, 2, 1, 2, 3]),
            ("nobody", []),
        ):
            yield Case(1, label, calls=1, alone=True, settings={"order": order})
        for number in range(4):
            rng = Case(1, "", seed=secret).rng(number, 0)
            n_replicas = int(rng.integers(3, 9))
            order = rng.integers(1, n_replicas + 1, size=30).tolist()
            yield Case(1, f"{n_replicas} replicas at random", calls=1, alone=True,
                       settings={"order": order})  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Hand over the order, a list of its own."""
        return (list(case.settings["order"]),)

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Subtract the number of the replica's update before, and one."""
        return [_ages(arguments[0][0])]

    def compare(self, case: Case, arguments: Given, got: Sequence[Any]) -> Difference | None:
        """Take an array for a list."""
        return super().compare(case, arguments, [as_list(value) for value in got])

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        (order,) = arguments[0]
        right, n_replicas = _ages(order), len(set(order))
        for hint_id, text, values in (
            ("counts-itself", "this is one too many: the update itself has not come between",
             [age + 1 for age in right]),
            ("first-push", "before its first push a replica has read the parameters of the start: "
             "all updates until then came between",
             [0 if rank not in order[:k] else age
              for k, (rank, age) in enumerate(zip(order, right, strict=True))]),
            ("first-push", "before its first push a replica has read the parameters of the start: "
             "the first update is one of those that came between",
             [age - (rank not in order[:k])
              for k, (rank, age) in enumerate(zip(order, right, strict=True))]),
            ("first-of-many", "order.index finds a replica's first push; count from its last one "
             "before this", [number - 1 - order[:number].index(rank) if rank in order[:number] else
                          number for number, rank in enumerate(order)]),
            ("replicas-not-updates", "count updates, not replicas: one that has pushed twice in "
             "between counts twice", _ages(order, distinct=True)),
            ("mean-everywhere", "this is the mean; each gradient has an age of its own",
             [n_replicas - 1] * len(order)),
            ("until-the-next", "count from the replica's push before, not to the one after",
             _ages(order[::-1])[::-1]),
            ("version", "this is the number of the update; how many of them has the replica read?",
             list(range(len(order)))),
        ):  # fmt: skip
            yield Mistake(hint_id, text, [values])
        yield Mistake("one-for-each", _ONE_EACH, [sum(right)])
        yield Mistake("one-for-each", _ONE_EACH, [sum(right) / max(len(right), 1)])

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice a list of another length."""
        return Hint("one-for-each", _ONE_EACH) if "values" in wrong.says else None


_ONE_EACH = "return a list with one whole number for each push, in their order"


def _ages(order: list[int], distinct: bool = False) -> list[int]:
    """Count what came between, updates or distinct replicas."""
    found: list[int] = []
    last: dict[int, int] = {}
    for number, rank in enumerate(order):
        between = order[last.get(rank, -1) + 1 : number]
        found.append(len(set(between) if distinct else between))
        last[rank] = number
    return found


TASK = StalenessOf()
