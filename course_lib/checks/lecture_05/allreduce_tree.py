"""The sum goes up a tree of workers, and down again."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from course_lib.checks.lecture_05.all_reduce import AllReduce, is_plain_number
from course_lib.checks.lecture_05.data import make, n_bytes
from course_lib.checks.task import Case, Given, Hint, Mistake, Price
from course_lib.comm.simulated.networks import DEFAULT
from course_lib.trace.trace import Trace

_EDGES = (
    "Rank r talks with its parent (r - 1) // 2 and with its children 2r + 1 and 2r + 2, with "
    "nobody else"
)
_WAITS = re.compile(r"^ *rank (\d+) wait(?:s|ed) in \w+\((?:src|dst)=(\d+)", re.MULTILINE)
_LECTURE = (7.0, 5.0, 6.0, 1.0, 2.0, 3.0, 4.0)


class AllReduceTree(AllReduce):
    """Rank r hears from ranks 2r + 1 and 2r + 2, and tells rank (r - 1) // 2."""

    name = "allreduce_tree"
    title = "Add up along a tree, and send the sum down again."
    sizes = (7, 4, 1, 2, 3, 5, 8)
    layout = "line"
    roles: ClassVar[Mapping[int, str]] = {0: "root"}
    deadlock_hint = (
        "on the way up a rank receives from its children before it sends to its parent; on the way "
        "down it receives from its parent before it sends to its children"
    )

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with the lecture's seven nodes; a second number tells who is in the sum."""
        settings = {"data": "lecture", "shape": (2,), "dtype": "float64", "layout": "plain"}
        yield Case(7, "7, 5, 6, 1, 2, 3, 4 on ranks 0 to 6, and beside it 8**r on rank r", calls=1,
                   settings=settings)  # fmt: skip
        yield from super().cases(secret)

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Make this rank's array."""
        if case.settings["data"] == "lecture":
            return (np.array([_LECTURE[rank], 8.0**rank]),)
        return (make(case, rank, call),)

    def price(self, case: Case) -> Price:
        """Send one message up and one down along each of the P - 1 edges."""
        size, n = case.workers, n_bytes(case)
        messages, depth = 2 * (size - 1), size.bit_length() - 1
        # A parent's NIC carries its children's messages one after the other, in and out: where
        # every parent has two, each of the 2 * depth rounds takes the time of 2n bytes.
        full = size & (size + 1) == 0
        seconds = 2 * depth * (DEFAULT.latency_s + 2 * n * DEFAULT.beta_s_per_byte)
        busiest = max(len(_neighbours(rank, size)) for rank in range(size))
        return Price(messages, messages * n, busiest * n, seconds if full else None, 2 * depth)

    def budget(self, case: Case) -> Price:
        """Allow any time: the rounds say enough."""
        return self.price(case)._replace(seconds=None)

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise what goes wrong on a tree."""
        size, ranks = case.workers, range(case.workers)
        parts = [array for (array,) in arguments]
        subtree = [_subtree(parts, rank) for rank in ranks]
        total = subtree[0]
        yield Mistake("up-only", "the sum has gone up: rank 0 has it, every other rank has that of "
                      "its subtree. Now it has to come down", subtree)  # fmt: skip
        for skipped in (1, 2):
            one_child = _subtree(parts, 0, skipped)
            yield Mistake("one-child", "a parent has up to two children, 2r + 1 and 2r + 2: it "
                          "adds what both send", [one_child] * size)  # fmt: skip
        early = sum((parts[child] for child in _children(0, size)), start=parts[0])
        yield Mistake("sends-too-early", "rank 0 has only its children's own numbers: a rank adds "
                      "what its children send before it sends up", [early] * size)  # fmt: skip
        stale = [total if rank <= 2 else subtree[(rank - 1) // 2] for rank in ranks]
        yield Mistake("old-sum-sent", "a parent sent down what it had sent up: it must pass on "
                      "what came from above", stale)  # fmt: skip
        twice = [total, *(total + subtree[rank] for rank in ranks[1:])]
        down = list(twice)
        for rank in ranks[3:]:
            down[rank] = down[(rank - 1) // 2] + subtree[rank]
        for values in (twice, down):
            yield Mistake("added-on-the-way-down", "what comes from above is the sum of all: take "
                          "it, and add nothing to it", values)  # fmt: skip
        yield from super().mistakes(case, arguments)

    def decoded(self, case: Case, got: Any, rank: int, right: Any) -> Hint | None:
        """Say who is missing where a rank's subtree is."""
        hint = super().decoded(case, got, rank, right)
        return hint and hint._replace(text=f"{hint.text}; draw the tree for {case.workers} ranks")

    def explain(self, case: Case, arguments: Given, got: Any, wrong: Any) -> Hint | None:
        """Decode the second number of the lecture's case."""
        in_lecture = case.settings["data"] == "lecture"
        if not (in_lecture and wrong.rank is not None and is_plain_number(wrong)):
            return super().explain(case, arguments, got, wrong)
        arrays = (value if isinstance(value, np.ndarray) else np.zeros(0) for value in got)
        coded = [array.reshape(-1)[1:] for array in arrays]
        return self.decoded(case, coded, wrong.rank, np.array([sum(8.0**r for r in range(7))]))

    def explain_mishap(self, case: Case, kind: str, text: str) -> Hint | None:
        """Notice a child that is not there, and a rank that waits for a stranger."""
        waits = _WAITS.findall(text) if kind == "DeadlockError" else []
        for rank, peer in ((int(one), int(other)) for one, other in waits):
            if peer not in _neighbours(rank, case.workers):
                return Hint("not-an-edge", f"rank {rank} waits for rank {peer}, which is neither "
                            f"its parent nor its child. {_EDGES}")  # fmt: skip
        beyond = "must be a rank from 0" in text or "must be another rank" in text
        if case.workers > 1 and beyond:
            return Hint(
                "no-such-child",
                f"the children of rank r are 2r + 1 and 2r + 2, where they are below "
                f"{case.workers}; its parent is (r - 1) // 2, and rank 0 has none",
            )
        return None

    def wrong_route(self, case: Case, trace: Trace) -> tuple[str, Hint] | None:
        """Let messages run along the tree's edges only."""
        for message in trace.messages:
            if message.dst not in _neighbours(message.src, case.workers):
                says = (
                    f"rank {message.src} sent to rank {message.dst}, which is neither its parent "
                )
                return f"{says}nor its child", Hint("not-an-edge", _EDGES)
        return super().wrong_route(case, trace)


def _children(rank: int, size: int) -> list[int]:
    return [child for child in (2 * rank + 1, 2 * rank + 2) if child < size]


def _neighbours(rank: int, size: int) -> list[int]:
    return [(rank - 1) // 2] * (rank > 0) + _children(rank, size)


def _subtree(parts: list[Any], rank: int, skipped: int = 0) -> Any:
    """Add up what lies under a rank, without every parent's ``skipped``-th child."""
    kept = [child for child in _children(rank, len(parts)) if child != 2 * rank + skipped]
    return sum((_subtree(parts, child, skipped) for child in kept), start=parts[rank])


TASK = AllReduceTree()
