"""The whole ring: chunks gather contributions, then the finished chunks go round."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np

from course_lib.checks.lecture_05.all_reduce import AllReduce
from course_lib.checks.lecture_05.data import n_bytes
from course_lib.checks.lecture_05.reduce_scatter_ring import left_the_ring, ring_mishap
from course_lib.checks.lecture_05.rings import after_gathering, after_reducing, most_sent
from course_lib.checks.task import Case, Given, Hint, Mistake, Price
from course_lib.comm.simulated.networks import DEFAULT
from course_lib.trace.trace import Trace

_UNFINISHED = (
    "the chunks that go round in the second half are not finished: does the first half add what "
    "arrives, and does the second begin with the chunk that arrived last?"
)


class AllReduceRing(AllReduce):
    """Every rank sends 2(P - 1) chunks to its right neighbour."""

    name = "allreduce_ring"
    title = "The ring: everybody gets the sum, and nobody carries more than anybody else."
    chunked = True
    deadlock_hint = (
        "every rank sends to its right and receives from its left neighbour in the same call: "
        "sendrecv(chunk, dst=right, src=left)"
    )
    price_hints: ClassVar[Mapping[str, str]] = {
        "too-many-rounds": "ranks wait for their turn, one after the other: use sendrecv, or let "
        "every second rank send first and the others receive first",
        "too-many-bytes": "send one chunk in each step, not the whole array; chunks may differ in "
        "length, and none is padded",
        "too-many-messages": "each half takes P - 1 steps: range(comm.size - 1)",
        "one-rank-carries-all": "chunks differ by one row at most: split_evenly cuts so",
    }

    def price(self, case: Case) -> Price:
        """Send 2(P - 1) chunks from each rank."""
        size, rows, n = case.workers, case.settings["shape"][0], n_bytes(case)
        steps, busiest = 2 * (size - 1), 2 * most_sent(rows, size) * (n // max(rows, 1))
        seconds = steps * DEFAULT.latency_s + busiest * DEFAULT.beta_s_per_byte
        return Price(steps * size, steps * n, busiest,
                     seconds if rows % size == 0 else None, steps)  # fmt: skip

    def budget(self, case: Case) -> Price:
        """Leave rounds for sending and receiving one after the other."""
        return self.price(case)._replace(rounds=4 * (case.workers - 1), seconds=None)

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise wrong numbers of steps, and wrong chunks."""
        yield from super().mistakes(case, arguments)
        parts, size = [array for (array,) in arguments], case.workers
        steps = size - 1
        half = after_reducing(parts, steps)
        for hint_id, text, held in (
            ("first-half-only", "each rank has one finished chunk, chunk rank + 1: in the second "
             "half the finished chunks go round", half),
            ("one-step-less", "the first half takes P - 1 steps: range(comm.size - 1)",
             after_gathering(after_reducing(parts, steps - 1), steps)),
            ("one-step-less", "the second half takes P - 1 steps: range(comm.size - 1)",
             after_gathering(half, steps - 1)),
            ("one-step-less", "both halves take P - 1 steps: range(comm.size - 1)",
             after_gathering(after_reducing(parts, steps - 1), steps - 1)),
            ("adds-in-second-half", "in the second half a finished chunk replaces what is there: "
             "add nothing", after_gathering(half, steps, adds=True)),
            ("unfinished-chunk-sent", _UNFINISHED, after_gathering(half, steps, first=0)),
            ("unfinished-chunk-sent", _UNFINISHED, after_gathering(half, steps, first=2)),
            ("sends-own", "in the first half, send the chunk that has grown on its way, not the "
             "one you began with", after_gathering(after_reducing(parts, steps, own=True), steps)),
        ):  # fmt: skip
            yield Mistake(hint_id, text, [np.concatenate(chunks) for chunks in held])

    def explain_mishap(self, case: Case, kind: str, text: str) -> Hint | None:
        """Notice numbers of chunks and ranks that do not exist, and chunks of equal length."""
        return ring_mishap(case, text)

    def wrong_route(self, case: Case, trace: Trace) -> tuple[str, Hint] | None:
        """Let messages go to the right only."""
        return left_the_ring(case, trace) or super().wrong_route(case, trace)


TASK = AllReduceRing()
