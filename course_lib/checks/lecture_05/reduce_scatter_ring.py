"""Half a ring: rank r ends with chunk r of the sum."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from course_lib.checks.comparator import Difference
from course_lib.checks.lecture_05.all_reduce import is_plain_number, too_little_received
from course_lib.checks.lecture_05.data import cases_of, make, n_bytes
from course_lib.checks.lecture_05.rings import after_reducing, most_sent
from course_lib.checks.task import ALL_SIZES, Case, Given, Hint, Mistake, Price, Task
from course_lib.comm.simulated.networks import DEFAULT
from course_lib.trace import fingerprint
from course_lib.trace.trace import Trace
from course_lib.training.shards import split_evenly

__all__ = ["TASK", "left_the_ring", "ring_mishap"]


class ReduceScatterRing(Task):
    """Rank r returns rows ``split_evenly(len(array), P)[r]`` of the sum."""

    name = "reduce_scatter_ring"
    title = "Half a ring: rank r ends with chunk r of the sum."
    takes = ("array",)
    rounding_terms = 64
    empty_results = True
    deadlock_hint = (
        "every rank sends to its right and receives from its left neighbour in the same call: "
        "sendrecv(chunk, dst=right, src=left)"
    )
    price_hints: ClassVar[Mapping[str, str]] = {
        "too-many-messages": "P - 1 steps are enough: range(comm.size - 1)",
        "too-many-rounds": "ranks wait for their turn, one after the other: use sendrecv, or let "
        "every second rank send first and the others receive first",
        "too-many-bytes": "in each step, send one chunk to the right, not the whole array",
    }

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with numbers whose sums can be decoded."""
        yield from cases_of(ALL_SIZES, secret)

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Make this rank's array."""
        return (make(case, rank, call),)

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Add all arrays up, and cut the sum."""
        parts = [array for (array,) in arguments]
        total = np.sum(parts, axis=0, dtype=parts[0].dtype)
        return [total[chunk] for chunk in split_evenly(len(total), case.workers)]

    def scale(self, case: Case, arguments: Given) -> Any:
        """Take the largest of the added numbers."""
        return max(float(np.abs(array).max(initial=0)) for (array,) in arguments)

    def price(self, case: Case) -> Price:
        """Send P - 1 chunks from each rank."""
        size, rows, n = case.workers, case.settings["shape"][0], n_bytes(case)
        busiest = most_sent(rows, size) * (n // max(rows, 1))
        seconds = (size - 1) * DEFAULT.latency_s + busiest * DEFAULT.beta_s_per_byte
        return Price(size * (size - 1), (size - 1) * n, busiest,
                     seconds if rows % size == 0 else None, size - 1)  # fmt: skip

    def budget(self, case: Case) -> Price:
        """Leave rounds for sending and receiving one after the other."""
        return self.price(case)._replace(rounds=2 * (case.workers - 1), seconds=None)

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        parts, size = [array for (array,) in arguments], case.workers
        right, ranks = self.expected(case, arguments), range(case.workers)
        for offset, which in ((1, "rank + 1"), (-1, "rank - 1")):
            yield Mistake(
                "next-chunk", f"every rank holds the finished chunk {which}: start with another "
                "chunk, so that the last one to arrive is the rank's own",
                [right[(rank + offset) % size] for rank in ranks],
            )  # fmt: skip
        chunks = split_evenly(len(parts[0]), size)
        yield Mistake(
            "own-chunk",
            "nothing was added to the chunk that each rank returns: is a step missing, or does the "
            "ring begin with the wrong chunk?",
            [parts[rank][chunks[rank]] for rank in ranks],
        )
        yield Mistake("mean", "this is the mean over ranks; return the sum",
                      [chunk / size for chunk in right])  # fmt: skip
        for first in range(size):
            own = after_reducing(parts, size - 1, first, own=True)
            if np.array_equal(own[0][0], parts[0][chunks[0]]):
                continue  # it began with the wrong chunk, too, and that was said above
            yield Mistake("sends-own", "send the chunk that has grown on its way, not the one you "
                          "began with", [own[rank][rank] for rank in ranks])  # fmt: skip

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Decode whose numbers are in the first wrong chunk."""
        rank = wrong.rank
        if rank is None:
            return None
        if not is_plain_number(wrong):
            return _wrong_shape(case, arguments, got[rank], wrong)
        if case.settings["data"] != "weights":
            return None
        found = fingerprint.counts(float(got[rank].flat[0]), case.workers)
        if found is None or found == [1] * case.workers:
            return None
        told = fingerprint.describe(found, [1] * case.workers)
        return Hint("wrong-sum", f"in chunk {rank}, which rank {rank} returns, {told}")

    def explain_mishap(self, case: Case, kind: str, text: str) -> Hint | None:
        """Notice numbers of chunks and ranks that do not exist, and chunks of equal length."""
        return ring_mishap(case, text)

    def wrong_route(self, case: Case, trace: Trace) -> tuple[str, Hint] | None:
        """Let messages go to the right only, and ask where the sum came from."""
        row_bytes = n_bytes(case) // max(case.settings["shape"][0], 1)
        chunks = split_evenly(case.settings["shape"][0], case.workers)
        least = [(chunk.stop - chunk.start) * row_bytes * case.calls for chunk in chunks]
        return left_the_ring(case, trace) or too_little_received(trace, least)


def left_the_ring(case: Case, trace: Trace) -> tuple[str, Hint] | None:
    """Find a message that does not go to the right neighbour."""
    for message in trace.messages:
        right = (message.src + 1) % case.workers
        if message.dst != right:
            return (
                f"rank {message.src} sent to rank {message.dst}; its right neighbour is {right}",
                Hint("not-the-ring", "on a ring a rank sends to its right neighbour only, and "
                     "receives from the left one"),
            )  # fmt: skip
    return None


def ring_mishap(case: Case, text: str) -> Hint | None:
    """Explain errors that chunk and rank numbers bring about."""
    if case.workers > 1 and ("list index out of range" in text or "must be a rank from 0" in text):
        return Hint(
            "no-modulo",
            f"ranks and chunks are numbered 0 to {case.workers - 1}, and after the last comes 0: "
            f"take the number modulo {case.workers}",
        )
    if "equal division" in text or "cannot reshape" in text:
        return Hint("uneven", "the length need not be a multiple of P, and may be less than P: "
                    "split_evenly cuts any length")  # fmt: skip
    return None


def _wrong_shape(case: Case, arguments: Given, value: Any, wrong: Difference) -> Hint | None:
    if "shape" not in wrong.says or not isinstance(value, np.ndarray):
        return None
    (array,) = arguments[0]
    if value.shape == array.shape:
        return Hint("whole-array", "return chunk r of rank r, not an array of the whole length")
    if value.ndim == array.ndim and len(array) % case.workers:
        return Hint("uneven", "the length is no multiple of P: cut it as split_evenly does, and "
                    "lose no row")  # fmt: skip
    return None


TASK = ReduceScatterRing()
