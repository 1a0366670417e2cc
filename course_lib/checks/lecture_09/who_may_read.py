"""The staleness bound: who of those that wait gets parameters now."""

from collections.abc import Iterator, Sequence
from typing import Any

from course_lib.checks.comparator import Difference, as_list
from course_lib.checks.task import Case, Given, Hint, LocalTask, Mistake

__all__ = ["TASK"]

Clocks = dict[int, int]


class WhoMayRead(LocalTask):
    """Of the waiting replicas, those that lead the slowest by no more than the bound."""

    name = "who_may_read"
    title = "Write the staleness bound: which replicas get parameters, and which have to wait."
    takes = ("clocks", "waiting", "bound")
    enough = "comparing clocks is enough"
    empty_results = True

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with what can be seen at a glance, then every border, then random clocks."""
        for label, clocks, waiting, bound in (
            (
                "six replicas, one of them slow",
                {1: 8, 2: 5, 3: 2, 4: 10, 5: 6, 6: 4},
                [4, 1, 5, 6, 2],
                4,
            ),
            ("bound 0: as in synchronous training", {1: 5, 2: 3, 3: 2}, [1, 3, 2], 0),
            ("the slowest waits, another computes", {1: 8, 2: 4, 3: 6}, [1, 2], 2),
            ("bound 0, all have arrived", {1: 3, 2: 3, 3: 3}, [3, 1, 2], 0),
            ("no bound", {1: 9, 2: 0, 3: 5}, [3, 1], None),
            ("the slowest waits, too", {1: 7, 2: 4, 3: 9}, [3, 2, 1], 3),
            ("exactly at the bound", {1: 6, 2: 4}, [1], 2),
            ("nobody waits", {1: 2, 2: 1}, [], 1),
            ("alone", {5: 8}, [5], 0),
        ):
            yield _case(label, clocks, waiting, bound)
        for number in range(6):
            rng = Case(1, "", seed=secret).rng(number, 0)
            n = int(rng.integers(3, 9))
            clocks = {rank: int(rng.integers(0, 8)) for rank in range(1, n + 1)}
            waiting = [int(rank) for rank in rng.permutation(n)[: int(rng.integers(1, n + 1))] + 1]
            yield _case(f"{n} replicas at random", clocks, waiting, int(rng.integers(0, 5)))

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Hand over copies."""
        clocks, waiting, bound = (case.settings[name] for name in self.takes)
        return dict(clocks), list(waiting), bound

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Compare each clock with the smallest."""
        clocks, waiting, bound = arguments[0]
        return [_within(waiting, clocks, min(clocks.values()), bound)]

    def compare(self, case: Case, arguments: Given, got: Sequence[Any]) -> Difference | None:
        """Take an array for a list."""
        return super().compare(case, arguments, [as_list(value) for value in got])

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        clocks, waiting, bound = arguments[0]
        slowest, fastest = min(clocks.values()), max(clocks.values())
        right = _within(waiting, clocks, slowest, bound)
        if bound is None:
            text = "without a bound nobody waits: bound is None then"
            yield Mistake("no-bound", text, [[]])
            yield Mistake("no-bound", text, [_within(waiting, clocks, slowest, 0)])
        else:
            others = [clock for rank, clock in clocks.items() if rank not in waiting]
            for hint_id, text, values in (
                ("strict", "exactly at the bound is still allowed: at most, not less than",
                 _within(waiting, clocks, slowest, bound - 1)),
                ("one-too-far", "one more than the bound is too far",
                 _within(waiting, clocks, slowest, bound + 1)),
                ("fastest", "compare with the slowest replica, not with the fastest",
                 [rank for rank in waiting if fastest - clocks[rank] <= bound]),
                ("slowest-of-all", "the slowest of all replicas counts, also if it still computes "
                 "and does not wait", _within(waiting, clocks, min((clocks[rank] for rank in
                                              waiting), default=0), bound)),
                ("slowest-of-all", "the slowest of all counts, also if it waits itself",
                 _within(waiting, clocks, min(others, default=slowest), bound)),
                ("zero-is-a-bound", "bound 0 is a bound: ask whether it is None, not whether it is "
                 "false", waiting if bound == 0 else right),
                ("who-must-wait", "these have to wait; return those that may read",
                 [rank for rank in waiting if rank not in right]),
                ("from-the-start", "the lead over the slowest counts, not the clock itself",
                 _within(waiting, clocks, 0, bound)),
            ):  # fmt: skip
                yield Mistake(hint_id, text, [values])
        yield Mistake("only-the-first", "all of them that may: not only the first", [right[:1]])
        yield Mistake("blocked-by-the-first", "who has to wait holds up nobody behind: look at all",
                      [right[: _until_blocked(waiting, right)]])  # fmt: skip
        yield Mistake("in-order", "in the order in which they wait", [sorted(right)])
        yield Mistake("in-order", "in the order in which they wait",
                      [sorted(right, key=clocks.__getitem__)])  # fmt: skip
        yield Mistake("those-that-wait", "only those that wait get an answer",
                      [_within(list(clocks), clocks, slowest, bound)])  # fmt: skip
        yield Mistake("ranks", "return the ranks", [[rank in right for rank in waiting]])
        yield Mistake("ranks", "return the ranks, not how many they are", [len(right)])

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice something other than a list of ranks."""
        return None if isinstance(got[0], list) else Hint("ranks", "return a list of ranks")

    def explain_mishap(self, case: Case, kind: str, text: str) -> Hint | None:
        """Notice a comparison with None."""
        if "NoneType" in text:
            return Hint("no-bound", "bound may be None: then nobody waits")
        return None


def _case(label: str, clocks: Clocks, waiting: list[int], bound: int | None) -> Case:
    given = {"clocks": clocks, "waiting": waiting, "bound": bound}
    return Case(1, label, calls=1, alone=True, settings=given)


def _within(waiting: list[int], clocks: Clocks, slowest: int, bound: int | None) -> list[int]:
    free = {rank for rank, clock in clocks.items() if bound is None or clock - slowest <= bound}
    return [rank for rank in waiting if rank in free]


def _until_blocked(waiting: list[int], right: list[int]) -> int:
    """Count those at the head of the queue that may read."""
    return next((k for k, rank in enumerate(waiting) if rank not in right), len(waiting))


TASK = WhoMayRead()
