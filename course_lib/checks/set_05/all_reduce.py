"""What the all-reduces of this set have in common: the right answer, and the usual mistakes."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from course_lib.checks import fingerprint
from course_lib.checks.comparator import Difference, differing_bits
from course_lib.checks.set_05.data import cases_of, make, n_bytes
from course_lib.checks.task import ALL_SIZES, Case, Given, Hint, Mistake, Task
from course_lib.trace.trace import Trace
from course_lib.training.shards import split_evenly

__all__ = ["AllReduce", "is_plain_number", "too_little_received"]


class AllReduce(Task):
    """Every rank returns the sum of all ranks' arrays.

    Attributes
    ----------
    sizes : tuple of int
        The numbers of workers to try, in this order.
    chunked : bool
        Whether the algorithm cuts the array into chunks: hints then name the chunk.
    """

    takes = ("array",)
    rounding_terms = 64
    empty_results = True
    sizes: ClassVar[tuple[int, ...]] = ALL_SIZES
    chunked: ClassVar[bool] = False

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with numbers whose sums can be decoded."""
        yield from cases_of(self.sizes, secret)

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Make this rank's array."""
        return (make(case, rank, call),)

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Add them all up."""
        return [_total(arguments)] * case.workers

    def scale(self, case: Case, arguments: Given) -> Any:
        """Take the largest of the added numbers."""
        return max(float(np.abs(array).max(initial=0)) for (array,) in arguments)

    def compare(self, case: Case, arguments: Given, got: Sequence[Any]) -> Difference | None:
        """Compare with the sum, and the ranks' results with each other: to the last bit."""
        return super().compare(case, arguments, got) or differing_bits(got, "results")

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise those that all algorithms invite."""
        parts, size = [array for (array,) in arguments], case.workers
        total = _total(arguments)
        yield Mistake("returns-own", "every rank returns its own array: where is the sum?", parts)
        for mean in (total / size, total // size):
            yield Mistake("mean", "this is the mean over ranks; return the sum", [mean] * size)
        yield Mistake("own-left-out", "every rank has the sum of the others: begin with a copy of "
                      "its own array", [total - part for part in parts])  # fmt: skip
        yield Mistake("only-one-knows", "rank 0 has the sum, the others still have their own: the "
                      "sum has to be sent to them", [total, *parts[1:]])  # fmt: skip
        zeros = np.zeros_like(total)
        yield Mistake("zeros", "these are zeros: nothing was added to them", [zeros] * size)

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Decode whose numbers are in the first wrong result, and where they come from."""
        if wrong.where == "bits":
            return Hint("last-bits", "ranks that add in different orders round differently: let "
                        "each element be added up in one order for all ranks")  # fmt: skip
        if wrong.rank is None:
            return None
        right, value = _total(arguments), got[wrong.rank]
        if not is_plain_number(wrong):
            return _padded(value, right)
        if case.settings["data"] == "weights":
            return self.decoded(case, got, wrong.rank, right)
        if case.settings["data"] == "positions":
            return _misplaced(case, value, right, wrong.rank)
        if right.dtype.kind == "i" and np.allclose(value, right, rtol=1e-9, atol=0):
            return Hint("precision", "right to about 15 digits: did whole numbers go through "
                        "floats?")  # fmt: skip
        return _tail_lost(case, value, right, self.scale(case, arguments))

    def decoded(self, case: Case, got: Sequence[Any], rank: int, right: Any) -> Hint | None:
        """Say whose numbers are missing or were added too often, in the first wrong place."""
        place = int(np.argmax(got[rank] != right))
        found = fingerprint.counts(float(got[rank][place]), case.workers)
        if found is None or found == [1] * case.workers:
            return None
        told = fingerprint.describe(found, [1] * case.workers)
        alike = all(np.array_equal(value, got[rank]) for value in got)
        where = "on every rank" if alike else f"in rank {rank}'s result"
        if self.chunked:
            where = f"in chunk {_chunk_of(place, len(right), case.workers)} of rank {rank}'s result"
        return Hint("wrong-sum", f"{where} {told}")

    def wrong_route(self, case: Case, trace: Trace) -> tuple[str, Hint] | None:
        """Notice a sum that came by another way than messages."""
        return too_little_received(trace, [n_bytes(case) * case.calls] * case.workers)


def is_plain_number(wrong: Difference) -> bool:
    """Say whether shape and dtype are right, and only the numbers differ."""
    return "should be" in wrong.says


def too_little_received(trace: Trace, least: Sequence[int]) -> tuple[str, Hint] | None:
    """Find a rank that holds more of the others' sum than its messages could tell it."""
    for rank, received in enumerate(trace.bytes_received()):
        # Half of it might do: numbers that travel as float32 are told from their values.
        if trace.size > 1 and received < least[rank] / 2:
            return (
                f"rank {rank} received {received:,} bytes in messages, and its result holds "
                f"{least[rank]:,} bytes that depend on the others",
                Hint("not-in-messages", "ranks share nothing: what another rank holds can only "
                     "come in a message"),
            )  # fmt: skip
    return None


def _total(arguments: Given) -> Any:
    parts = [array for (array,) in arguments]
    return np.sum(parts, axis=0, dtype=parts[0].dtype)


def _chunk_of(place: int, length: int, size: int) -> int:
    cut = split_evenly(length, size)
    return next(number for number, part in enumerate(cut) if part.start <= place < part.stop)


def _misplaced(case: Case, value: Any, right: Any, rank: int) -> Hint | None:
    """Find the chunk whose sum stands where another's should."""
    chunks = split_evenly(len(right), case.workers)
    for number, chunk in enumerate(chunks):
        if np.array_equal(value[chunk], right[chunk]):
            continue
        for other, source in enumerate(chunks):
            if np.array_equal(value[chunk], right[source]):
                return Hint("misplaced", f"where chunk {number} of rank {rank}'s result should be "
                            f"stands chunk {other}")  # fmt: skip
    return None


def _padded(value: Any, right: Any) -> Hint | None:
    """Notice a result that is longer than it should be, and otherwise alike."""
    if isinstance(value, np.ndarray) and value.ndim == right.ndim and len(value) > len(right):
        return Hint("padding", "the result is longer than the array: was it filled up to a "
                    "multiple of P? split_evenly needs no padding")  # fmt: skip
    return None


def _tail_lost(case: Case, value: Any, right: Any, scale: float) -> Hint | None:
    """Notice that only the end of the array is wrong, which P chunks of equal length leave over."""
    length = right.shape[0]
    whole = length // case.workers * case.workers
    wrong = np.abs(value - right) > 1e-3 * scale
    if whole == length or not wrong.any() or wrong[:whole].any():
        return None
    return Hint(
        "tail-lost",
        f"{length} rows in chunks of {length // case.workers} leave {length - whole} over: let "
        "split_evenly cut, its chunks differ by one",
    )
