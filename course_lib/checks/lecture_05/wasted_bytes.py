"""What an all-reduce sent that a ring need not send."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np

from course_lib.checks.comparator import Difference, as_list
from course_lib.checks.lecture_00.predict_gather import sum_at_rank_0
from course_lib.checks.task import Case, Given, Hint, LocalTask, Mistake
from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.trace.trace import Trace

__all__ = ["TASK", "colleagues_ring"]


def colleagues_ring(comm: Communicator, array: Any) -> Any:
    """Add up the arrays of all ranks; what a rank knows goes on to the right.

    Parameters
    ----------
    comm : Communicator
        The group of ranks; all of them must call.
    array : numpy.ndarray, any shape
        This rank's numbers, the same shape and dtype on every rank.

    Returns
    -------
    numpy.ndarray
        The sum over all ranks, on every rank.

    Notes
    -----
    Cost: P - 1 rounds; P - 1 messages and P (P - 1) / 2 n bytes sent by each rank.
    """
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    known = array[np.newaxis]
    for _ in range(comm.size - 1):
        known = np.concatenate([array[np.newaxis], comm.sendrecv(known, dst=right, src=left)])
    return known.sum(axis=0)


def _two_laps(comm: Communicator, array: Any) -> Any:
    """Send whole arrays round, and then the whole sum once more, although everybody has it."""
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    total, passing = array.copy(), array
    for _ in range(comm.size - 1):
        passing = comm.sendrecv(passing, dst=right, src=left)
        total += passing
    for _ in range(comm.size - 1):
        total = comm.sendrecv(total, dst=right, src=left)
    return total


def _chunked(comm: Communicator, array: Any) -> Any:
    from course_lib.collectives import allreduce_ring

    return allreduce_ring(comm, array)


def _along_a_line(comm: Communicator, array: Any) -> Any:
    """Add up from rank 0 to the last rank, which tells everybody."""
    last, total = comm.size - 1, array.copy()
    if comm.rank > 0:
        comm.recv(comm.rank - 1, out=total, op="sum")
    if comm.rank < last:
        comm.send(total, comm.rank + 1)
        return comm.recv(last)
    for dst in range(last):
        comm.send(total, dst)
    return total


_PROGRAMS: dict[str, Callable[..., Any]] = {
    "the colleague's ring": colleagues_ring,
    "a chunked ring": _chunked,
    "a sum at rank 0": sum_at_rank_0,
    "a ring with two laps": _two_laps,
    "a line whose end tells all": _along_a_line,
}

_WHOLE = (
    "a ring's rank sends 2 (P - 1) chunks of n_bytes / P: that is neither n_bytes nor twice as much"
)


class WastedBytes(LocalTask):
    """For each rank, what it sent beyond ``2 (P - 1) / P * n_bytes``."""

    name = "wasted_bytes"
    title = "Find the bug: tell a wrong ring from its bytes."
    units: ClassVar[Mapping[str, str]] = {"": "bytes"}
    fresh = False
    takes = ("trace", "n_bytes")
    enough = "the trace's counts are enough"

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with the colleague's ring, on four workers."""
        rng = np.random.default_rng([secret, 5])
        for program in _PROGRAMS:
            for workers in (4, 1, 2, 3, 5, 7, 8):
                n_numbers = workers * int(rng.integers(1, 40)) if workers != 4 else 1000
                ranks = "1 worker" if workers == 1 else f"{workers} workers"
                yield Case(
                    1, f"{program}, {ranks}, {8 * n_numbers:,} bytes", calls=1, alone=True,
                    settings={"trace": _trace(program, workers, n_numbers), "n": 8 * n_numbers},
                )  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Hand over the trace, and the bytes of the vector."""
        return case.settings["trace"], case.settings["n"]

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Subtract what a ring sends from what each rank sent."""
        trace, n = arguments[0]
        return [[float(max(0, sent - _needed(trace, n))) for sent in trace.bytes_sent()]]

    def compare(self, case: Case, arguments: Given, got: Sequence[Any]) -> Difference | None:
        """Take an array of one row for a list."""
        return super().compare(case, arguments, [as_list(value) for value in got])

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        trace, n = arguments[0]
        sent, needed = trace.bytes_sent(), _needed(trace, n)
        for hint_id, text, values in (
            ("not-subtracted", "this is all that a rank sent: subtract what a ring needs", sent),
            ("one-half", "a ring has two halves: each rank sends (P - 1) / P * n_bytes in "
             "each; and add up all that a rank sends first, then compare once",
             [max(0, s - needed / 2) for s in sent]),
            ("whole-vector", _WHOLE, [max(0, s - n) for s in sent]),
            ("whole-vector", _WHOLE, [max(0, s - 2 * n) for s in sent]),
            ("below-zero", "a rank that sends less than a ring's wastes nothing: 0, not less",
             [s - needed for s in sent]),
            ("below-zero", "a rank that sends less than a ring's wastes nothing: 0; abs() makes a "
             "saving a waste", [abs(s - needed) for s in sent]),
            ("bits", "bytes are asked for, not bits", [8 * max(0, s - needed) for s in sent]),
            ("received", "these are the bytes that each rank received; count those it sent",
             [max(0, r - needed) for r in trace.bytes_received()]),
            ("alike", "the ranks need not send alike: count for each of them",
             [max(0, trace.n_bytes / trace.size - needed)] * trace.size),
            ("alike", "the ranks need not send alike: count for each of them",
             [max(0, max(sent) - needed)] * trace.size),
            ("nothing-wasted", "no rank wastes anything by this count: compare bytes, not messages,"
             " with 2 (P - 1) chunks of n_bytes / P bytes; n_bytes is in bytes already",
             [0] * trace.size),
        ):  # fmt: skip
            yield Mistake(hint_id, text, [[float(value) for value in values]])

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice one number for all ranks."""
        if "(a tuple or list)" in wrong.says or re.search(r"values?, got", wrong.says):
            return Hint("one-for-each", "return a list with one number for each rank")
        return None


@cache
def _trace(program: str, workers: int, n_numbers: int) -> Trace:
    return run(_PROGRAMS[program], np.ones(n_numbers), workers=workers, backend="simulated").trace


def _needed(trace: Trace, n: int) -> int:
    return 2 * (trace.size - 1) * n // trace.size


TASK = WastedBytes()
