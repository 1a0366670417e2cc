"""Place the nodes of a small graph so that none of the other placements is done earlier."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from course_lib.checks.comparator import Difference
from course_lib.checks.lecture_13.predict_makespan import finished_us
from course_lib.checks.plain import Unusable, plain, plain_number
from course_lib.checks.shown import kind, show
from course_lib.checks.task import Case, Given, Hint, LocalTask
from course_lib.planning.numbered import Inputs, random_nodes

__all__ = ["TASK", "least_us"]

Ranks = Sequence[int]


class PlaceNodes(LocalTask):
    """The placement that is done first; of several that are, any."""

    name = "place_nodes"
    title = "Place the nodes of a graph on workers so that the makespan is the least there is."
    takes = ("inputs", "us", "n_workers", "message_us")
    forbidden = (*LocalTask.forbidden, "course_lib.lectures", "course_lib.planning")
    shows_arguments = True
    enough = "a loop over placements, and your makespan of each, are enough"

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with a graph that misleads every wrong planner; then borders, then random ones."""
        for label, inputs, us, n_workers, message_us in _FIXED:
            yield _case(label, inputs, us, n_workers, message_us)
        rng = np.random.default_rng([secret, 132])
        for n_nodes, n_workers, message_us in ((6, 2, 20), (5, 3, 15), (6, 2, 60), (5, 3, 40)):
            inputs, us = random_nodes(int(rng.integers(1 << 30)), n_nodes)
            yield _case("a random graph", inputs, us, n_workers, message_us)

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Hand over the graph."""
        return tuple(case.settings["graph"])

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Try every placement; take the first of the best."""
        inputs, us, n_workers, message_us = arguments[0]
        return [min(_all(inputs, n_workers), key=lambda r: _makespan(inputs, us, r, message_us))]

    def compare(self, case: Case, arguments: Given, got: Sequence[Any]) -> Difference | None:
        """Accept any placement that is done as early as the best."""
        inputs, us, n_workers, message_us = arguments[0]
        best = self.expected(case, arguments)[0]
        best_us, ranks = _makespan(inputs, us, best, message_us), _ranks(got[0])
        if not _is_placement(ranks, len(us), n_workers):
            says = f"the value should be {len(us)} ranks in a list, each from 0 to {n_workers - 1}"
            given = kind(got[0]) if isinstance(got[0], Unusable) else show(got[0])
            return Difference(says, f"{list(best)}", given[:80])
        found_us = _makespan(inputs, us, ranks, message_us)
        if found_us == best_us:
            return None
        says = f"{ranks} is done after {found_us} µs, {list(best)} after {best_us} µs"
        return Difference(says, f"{best_us} µs", f"{found_us} µs", "the makespan")

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Say what a planner has forgotten whose placement this might be."""
        inputs, us, n_workers, message_us = arguments[0]
        ranks = _ranks(got[0])
        if not isinstance(ranks, list) or len(ranks) != len(us):
            return Hint("a-rank-each", "return a list with the rank of each node, in their order")
        if not _is_placement(ranks, len(us), n_workers):
            most = n_workers - 1
            return Hint("ranks", f"a rank is a whole number from 0 to n_workers - 1, {most} here")
        for hint_id, text, is_so in _suspicions(inputs, us, ranks, n_workers, message_us):
            if is_so:
                return Hint(hint_id, text)
        return Hint("better-there-is", "another placement is done earlier: try all of them, with "
                    "the makespan of task 1")  # fmt: skip


def _suspicions(
    inputs: Inputs, us: Any, ranks: Ranks, n_workers: int, message_us: int
) -> Iterator[tuple[str, str, bool]]:
    """Ask of a placement that is not the best which wrong planner it would be the best for."""
    every = [list(r) for r in _all(inputs, n_workers)]

    def is_best(price: Any, among: Any = None) -> bool:
        return bool(price(ranks) == min(map(price, among or every)))

    yield ("one-worker", "one worker alone is the best only where messages are dear: it "
           "computes one node at a time",
           len(set(ranks)) == 1)  # fmt: skip
    yield ("largest", "that is the placement that is done last: the least makespan is asked for",
           _makespan(inputs, us, ranks, message_us)
           == max(_makespan(inputs, us, r, message_us) for r in every))  # fmt: skip
    yield ("every-worker", "all workers may be used: ranks go up to n_workers - 1",
           n_workers > 2 and max(ranks) < n_workers - 1
           and is_best(lambda r: _makespan(inputs, us, r, message_us),
                       [list(r) for r in _all(inputs, n_workers - 1)]))  # fmt: skip
    yield ("messages-take-time", "this would be the best if messages took no time: a result from "
           "another worker comes message_us later",
           is_best(lambda r: _makespan(inputs, us, r, 0)))  # fmt: skip
    yield ("wait-for-inputs", "the work is divided evenly, but workers wait: a node needs its "
           "inputs", is_best(lambda r: _busiest(us, r, n_workers)))  # fmt: skip
    few = " (or with the fewest messages)" * (_n_crossing(inputs, ranks) == 0)
    yield ("node-by-node", f"so one gets it node by node, each where it is done earliest{few}: "
           "that does not know what comes after. Try whole placements, and compare their makespans",
           list(ranks) == _greedy(inputs, us, n_workers, message_us))  # fmt: skip
    yield ("single-moves", "no single move helps, and still there is a better one: two nodes have "
           "to move together", _is_stuck(inputs, us, ranks, n_workers, message_us))  # fmt: skip


def _n_crossing(inputs: Inputs, ranks: Ranks) -> int:
    return len({(u, ranks[k]) for k, before in enumerate(inputs) for u in before
                if ranks[u] != ranks[k]})  # fmt: skip


def _greedy(inputs: Inputs, us: Sequence[int], n_workers: int, message_us: int) -> list[int]:
    ranks: list[int] = []
    for k in range(len(us)):
        ends = [
            finished_us(inputs[: k + 1], us, [*ranks, rank], message_us)[k]
            for rank in range(n_workers)
        ]
        ranks.append(ends.index(min(ends)))
    return ranks


def _is_stuck(inputs: Inputs, us: Any, ranks: Ranks, n_workers: int, message_us: int) -> bool:
    here = _makespan(inputs, us, ranks, message_us)
    return all(
        _makespan(inputs, us, [*ranks[:k], rank, *ranks[k + 1 :]], message_us) >= here
        for k in range(len(us)) for rank in range(n_workers)
    )  # fmt: skip


def least_us(inputs: Inputs, us: Sequence[int], n_workers: int, message_us: int) -> int:
    """Return the least makespan of all placements, in microseconds."""
    return min(_makespan(inputs, us, r, message_us) for r in _all(inputs, n_workers))


def _all(inputs: Inputs, n_workers: int) -> Iterator[tuple[int, ...]]:
    return product(range(n_workers), repeat=len(inputs))


def _makespan(inputs: Inputs, us: Sequence[int], ranks: Ranks, message_us: int) -> int:
    return max(finished_us(inputs, us, ranks, message_us))


def _busiest(us: Sequence[int], ranks: Ranks, n_workers: int) -> int:
    return max(sum(t for t, r in zip(us, ranks, strict=True) if r == w) for w in range(n_workers))


def _ranks(value: Any) -> Any:
    """Take a list, a tuple or an array of whole numbers as a list."""
    value = plain(value)
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(value, list):  # what is no result is a tuple, too
        return value
    return [plain_number(one) for one in value]


def _is_placement(ranks: Any, n_nodes: int, n_workers: int) -> bool:
    return (
        isinstance(ranks, list)
        and len(ranks) == n_nodes
        and all(isinstance(r, int) and not isinstance(r, bool) for r in ranks)
        and all(0 <= r < n_workers for r in ranks)
    )


def _case(label: str, *graph: Any) -> Case:
    return Case(1, label, calls=1, alone=True, settings={"graph": graph})


_FIXED: tuple[tuple[str, Inputs, tuple[int, ...], int, int], ...] = (
    ("two roots", ((), (), (1,), (0,), (0,)), (50, 90, 30, 20, 80), 3, 45),
    ("two branches", ((), (0,), (0,), (1, 2)), (10, 60, 50, 10), 2, 15),
    ("messages that are dear", ((), (0,), (0,), (1, 2)), (10, 60, 50, 10), 2, 90),
    ("a chain", ((), (0,), (1,), (2,)), (20, 30, 20, 30), 3, 5),
    ("three branches on three workers", ((), (0,), (0,), (0,), (1, 2, 3)),
     (10, 60, 60, 60, 10), 3, 10),
    ("two chains that begin alike", ((), (0,), (0,), (1,), (2,), (3, 4)),
     (10, 40, 40, 50, 50, 10), 2, 30),
    ("nothing waits", ((), (), (), (), ()), (50, 40, 30, 30, 30), 2, 10),
    ("a way back that is dear", ((), (0,), (1,), (0,), (2, 3)), (10, 30, 30, 80, 10), 2, 45),
    ("six nodes, four of which need nothing", ((), (), (0,), (), (), (0, 1, 3)),
     (80, 40, 20, 20, 90, 10), 2, 20),
    ("one node", ((),), (30,), 2, 10),
)  # fmt: skip

TASK = PlaceNodes()
