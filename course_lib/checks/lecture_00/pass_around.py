"""A message goes once around, and every rank adds its own numbers to it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from course_lib.checks.comparator import Difference
from course_lib.checks.task import ALL_SIZES, Case, Given, Hint, Mistake, Price, Task
from course_lib.comm.simulated.networks import DEFAULT
from course_lib.trace import fingerprint


class PassAround(Task):
    """Rank r returns x of ranks 0 to r, added up; rank 0 returns the sum of all."""

    name = "pass_around"
    title = "Pass a message around; everybody adds to it."
    takes = ("x",)
    verbs = ("send", "recv")
    price_hints: ClassVar[Mapping[str, str]] = {
        "too-many-messages": "one message from each rank: it comes from the left and goes on to "
        "the right, once around",
    }
    deadlock_hint = "somebody has to begin: rank 0 sends before it receives, the others after"

    def cases(self, secret: int) -> Iterator[Case]:
        """Begin with numbers whose sums can be decoded."""
        for size in ALL_SIZES:
            settings = {"length": 3, "dtype": "float64"}
            yield Case(size, "3 numbers each", calls=1, settings=settings)
        for number, size in enumerate(ALL_SIZES):
            for length, dtype in ((1, "int64"), (5, "float64"), (2500, "float32")):
                yield Case(
                    size, f"{length} random numbers each, {dtype}", seed=secret + number,
                    rendezvous=length == 5, stagger=length == 1,
                    settings={"length": length, "dtype": dtype},
                )  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Make this rank's x."""
        length, dtype = case.settings["length"], case.settings["dtype"]
        if case.seed == 0:
            return (np.full(length, fingerprint.weight(rank, case.workers), dtype=dtype),)
        return ((case.rng(rank, call).normal(size=length) * 100).astype(dtype),)

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Take the cumulative sum over ranks; rank 0 gets the last one."""
        totals = np.cumsum([x for (x,) in arguments], axis=0, dtype=arguments[0][0].dtype)
        return [totals[-1], *totals[1:]]

    def scale(self, case: Case, arguments: Given) -> Any:
        """Take the largest of the added numbers."""
        return max(float(np.abs(x).max()) for (x,) in arguments)

    def price(self, case: Case) -> Price:
        """Send one message from each rank, one after the other."""
        n_messages = case.workers if case.workers > 1 else 0
        n_bytes = case.settings["length"] * np.dtype(case.settings["dtype"]).itemsize
        seconds = n_messages * (DEFAULT.latency_s + n_bytes * DEFAULT.beta_s_per_byte)
        return Price(n_messages, n_messages * n_bytes, n_bytes if n_messages else 0, seconds)

    def budget(self, case: Case) -> Price:
        """Allow any time: the messages say enough."""
        return self.price(case)._replace(seconds=None)

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        ranks = range(case.workers)
        parts = [x for (x,) in arguments]
        sums = np.cumsum(parts, axis=0, dtype=parts[0].dtype)
        yield Mistake(
            "adds-nothing", "the message arrives as it left rank 0: add x before you send it on",
            [parts[0] for _ in ranks],
        )  # fmt: skip
        yield Mistake(
            "rank-0-returns-own",
            "rank 0 returns what it began with; the message comes back to it from the last rank",
            [sums[rank] for rank in ranks],
        )
        yield Mistake(
            "rank-0-adds-twice",
            "rank 0's numbers are in it twice: at the start, and again when the message is back",
            [sums[-1] + parts[0], *sums[1:]],
        )
        yield Mistake(
            "returns-what-came",
            "this is what arrived; return it with this rank's x added",
            [sums[-1], *(sums[rank - 1] for rank in ranks[1:])],
        )
        yield Mistake("returns-own", "every rank returns its own x: where is the sum?", parts)
        yield Mistake("sum-everywhere", "only rank 0 has seen everybody's numbers; rank r has seen "
                      "those of ranks 0 to r", [sums[-1] for _ in ranks])  # fmt: skip

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Decode whose numbers are in the first wrong sum."""
        rank = wrong.rank
        if case.seed != 0 or rank is None or not isinstance(got[rank], np.ndarray):
            return None
        if got[rank].size == 0 or got[rank].dtype.kind not in "iuf":
            return None
        found = fingerprint.counts(float(got[rank].flat[0]), case.workers)
        if found is None or "should be" not in wrong.says:
            return None
        last = case.workers - 1 if rank == 0 else rank
        right = [int(source <= last) for source in range(case.workers)]
        return Hint("wrong-sum", f"in rank {rank}'s result {fingerprint.describe(found, right)}")


TASK = PassAround()
