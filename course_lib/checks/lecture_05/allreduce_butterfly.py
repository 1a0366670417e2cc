"""Pairs exchange sums, at distance 1, 2, 4, ...: after log2(P) rounds everybody has all."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from course_lib.checks.comparator import Difference
from course_lib.checks.lecture_05.all_reduce import AllReduce
from course_lib.checks.lecture_05.data import n_bytes
from course_lib.checks.task import Case, Given, Hint, Mistake, Price
from course_lib.comm.simulated.networks import DEFAULT

_NO_PARTNER = Hint(
    "no-such-partner",
    "the partner is comm.rank ^ distance: ^ flips one bit, and with Q ranks it never leaves 0 to "
    "Q - 1; + and ** do",
)


class AllReduceButterfly(AllReduce):
    """Recursive doubling; ranks beyond a power of two hand over before, and are told after."""

    name = "allreduce_butterfly"
    title = "Exchange sums in pairs: the fewest rounds."
    sizes = (4, 1, 2, 8, 3, 5, 7)
    deadlock_hint = (
        "in each round two partners must name each other: the partner is rank ^ distance, and one "
        "sendrecv(sum, dst=partner, src=partner) does both at once"
    )
    price_hints: ClassVar[Mapping[str, str]] = {
        "too-many-rounds": "both partners can send in the same round: sendrecv does both at once; "
        "up a tree and down again takes twice the rounds",
        "too-many-messages": "in a round every rank talks with one partner only; what it sends is "
        "the sum it has so far",
    }

    def price(self, case: Case) -> Price:
        """Send Q log2(Q) messages among Q ranks, a power of two, and two for each rank beyond."""
        size, n = case.workers, n_bytes(case)
        log_q = size.bit_length() - 1
        beyond = size - 2**log_q
        messages = 2**log_q * log_q + 2 * beyond
        busiest = (log_q + (beyond > 0)) * n
        # What rank Q + i gave takes all log2(Q) rounds to reach the rank that differs from i in
        # every bit; only if that one has somebody to tell, too, the chain is one message longer.
        rounds = log_q + (beyond > 0) + (2 * beyond > 2**log_q)
        seconds = rounds * (DEFAULT.latency_s + n * DEFAULT.beta_s_per_byte)
        return Price(messages, messages * n, busiest, None if beyond else seconds, rounds)

    def budget(self, case: Case) -> Price:
        """Allow a round before and a round after, however the ranks beyond find their hosts."""
        price, log_q = self.price(case), case.workers.bit_length() - 1
        return price._replace(rounds=log_q + 2 * (case.workers > 2**log_q), seconds=None)

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise missing rounds, and doubled sums."""
        parts, size = [array for (array,) in arguments], case.workers
        yield from super().mistakes(case, arguments)
        if not _is_power_of_2(size):
            return
        distances = [2**k for k in range(size.bit_length() - 1)]
        for number in range(len(distances)):
            for kept in (distances[:number], distances[number + 1 :]):
                if kept:
                    yield Mistake("rounds-missing", "every rank has the sum of a group only: go on "
                                  "while distance < P", _exchanged(parts, kept))  # fmt: skip
        yield Mistake("same-partner", "the partner is the same in every round: the distance has to "
                      "double", _exchanged(parts, [1] * len(distances)))  # fmt: skip
        own = [_own_only(parts, distances, rank) for rank in range(size)]
        yield Mistake("sends-own", "from the second round on, send the sum so far, not the array "
                      "from the beginning", own)  # fmt: skip

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Point at the ranks beyond a power of two."""
        hint = super().explain(case, arguments, got, wrong)
        if _is_power_of_2(case.workers) or (hint and hint.id in ("last-bits", "tail-lost")):
            return hint
        return _beyond(case, f"; {hint.text}" if hint and hint.id == "wrong-sum" else "")

    def explain_mishap(self, case: Case, kind: str, text: str) -> Hint | None:
        """Point at the partner's number, and at the ranks beyond a power of two."""
        if _is_power_of_2(case.workers):
            wrong = case.workers > 1 and "must be a" in text
            return _NO_PARTNER if wrong else None
        return _beyond(case)


def _is_power_of_2(number: int) -> bool:
    return number & (number - 1) == 0


def _beyond(case: Case, more: str = "") -> Hint:
    core = 2 ** (case.workers.bit_length() - 1)
    return Hint(
        "powers-of-two",
        f"it is right for 1, 2, 4 and 8 workers. With {case.workers}, let ranks 0 to {core - 1} "
        f"make the exchange: rank {core} gives its array to rank 0 before, and gets the sum from "
        f"it after{more}",
    )


def _exchanged(parts: list[Any], distances: list[int]) -> list[Any]:
    for distance in distances:
        parts = [part + parts[rank ^ distance] for rank, part in enumerate(parts)]
    return parts


def _own_only(parts: list[Any], distances: list[int], rank: int) -> Any:
    return sum((parts[rank ^ distance] for distance in distances), start=parts[rank])


TASK = AllReduceButterfly()
