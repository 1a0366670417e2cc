"""Everybody hands its numbers to the right, at the same time."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from course_lib.checks.task import ALL_SIZES, Case, Given, Mistake, Price, Task
from course_lib.comm.simulated.networks import DEFAULT


class ShiftRight(Task):
    """Rank r returns the x of rank r - 1; rank 0 that of the last rank."""

    name = "shift_right"
    title = "Hand your numbers to the right while the left hands you its own: no deadlock."
    takes = ("x",)
    verbs = ("send", "recv", "recv_any", "sendrecv", "isend", "irecv")
    tells_the_cure = False
    deadlock_hint = (
        "go through the function as two neighbours, line by line: what must one of them do before "
        "the other can go on?"
    )
    price_hints: ClassVar[Mapping[str, str]] = {
        "too-many-messages": "one message from each rank, with the whole x: who waits for whom "
        "depends on the order, not on the length",
    }

    def cases(self, secret: int) -> Iterator[Case]:
        """Try short and long messages, with and without rendezvous."""
        for size in ALL_SIZES:
            settings = {"length": 3, "dtype": "float64"}
            yield Case(size, "3 numbers each", calls=1, settings=settings)
        for number, size in enumerate(ALL_SIZES):
            for length, dtype in ((10_000, "float64"), (2, "int64"), (7, "float32")):
                yield Case(
                    size, f"{length:,} numbers each, {dtype}", seed=secret + number,
                    rendezvous=length == 2, stagger=length == 7,
                    settings={"length": length, "dtype": dtype},
                )  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Make this rank's x: 10 r, 10 r + 1, ... or random numbers."""
        length, dtype = case.settings["length"], case.settings["dtype"]
        if case.seed == 0:
            return (np.arange(10 * rank, 10 * rank + length).astype(dtype),)
        return ((case.rng(rank, call).normal(size=length) * 100).astype(dtype),)

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Roll the list of all x by one."""
        return [arguments[rank - 1][0] for rank in range(case.workers)]

    def price(self, case: Case) -> Price:
        """Send one message from each rank, all at the same time."""
        n_bytes = case.settings["length"] * np.dtype(case.settings["dtype"]).itemsize
        if case.workers == 1:
            return Price(0, 0, 0, 0.0)
        seconds = DEFAULT.latency_s + n_bytes * DEFAULT.beta_s_per_byte
        return Price(case.workers, case.workers * n_bytes, n_bytes, seconds)

    def budget(self, case: Case) -> Price:
        """Allow the messages to go one after the other."""
        return self.price(case)._replace(seconds=None)

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        parts = [x for (x,) in arguments]
        size = case.workers
        yield Mistake(
            "shifts-left", "this goes to the left: right is rank + 1, left is rank - 1",
            [parts[(rank + 1) % size] for rank in range(size)],
        )  # fmt: skip
        yield Mistake("returns-own", "every rank returns its own x; return what arrived", parts)
        yield Mistake(
            "no-wrap", "the ring is not closed: rank 0's left neighbour is the last rank",
            [parts[max(rank - 1, 0)] for rank in range(size)],
        )  # fmt: skip
        yield Mistake(
            "swaps-pairs", "this swaps pairs; what goes right comes from the left",
            [parts[rank ^ 1 if rank ^ 1 < size else rank] for rank in range(size)],
        )  # fmt: skip
        for rank, x in enumerate(parts):
            yield Mistake("one-for-all", f"everybody has the numbers of rank {rank}", [x] * size)


TASK = ShiftRight()
