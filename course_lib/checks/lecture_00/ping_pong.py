"""How long does a message take? Send it to and fro, and look at the clock."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from course_lib.checks.comparator import Difference, first_difference
from course_lib.checks.task import Case, Given, Hint, Mistake, Price, Task
from course_lib.comm.simulated.faults import Delay, Faults
from course_lib.comm.simulated.networks import Network, ethernet_10g


class PingPong(Task):
    """Rank 0 returns the seconds of one message between ranks 0 and 1; the others return None."""

    name = "ping_pong"
    title = "Measure how long one message takes."
    takes = ("n_bytes", "n_trips")
    verbs = ("send", "recv")
    units: ClassVar[Mapping[str, str]] = {"": "s"}
    rounding_terms = 1 << 20  # a clock that has counted n round trips has rounded 4n times
    price_hints: ClassVar[Mapping[str, str]] = {
        "too-few-messages": "n_trips round trips are two messages each: does the loop go n_trips "
        "times, and is each message answered?",
        "too-few-bytes": "each message has n_bytes bytes, there and back: np.zeros(n_bytes, "
        "dtype=np.uint8), which rank 1 sends back",
        "too-many-bytes": "n_bytes float64 numbers have 8 n_bytes bytes: make an array of bytes, "
        "np.zeros(n_bytes, dtype=np.uint8)",
        "too-many-messages": "only ranks 0 and 1 take part, n_trips times (one more to warm up)",
    }
    deadlock_hint = "rank 0 sends, then receives; rank 1 receives, then sends"

    def cases(self, secret: int) -> Iterator[Case]:
        """Try networks that nobody can guess; in the last one every message is late by chance."""
        for workers, more in ((2, ""), (4, ", ranks 2 and 3 idle")):
            yield Case(
                workers, f"1,000 bytes, 3 round trips, 10-gigabit Ethernet{more}", calls=1,
                network=ethernet_10g, settings={"n_bytes": 1000, "n_trips": 3},
            )  # fmt: skip
        for number in range(7):
            rng = Case(1, "", seed=secret + number).rng(0, 0)
            latency_s, bandwidth = 10 ** rng.uniform(-6, -3), 10 ** rng.uniform(6, 10)
            n_bytes, n_trips = int(rng.integers(2, 100_000)), int(rng.integers(2, 20))
            late = number == 6
            late_s = (rng.uniform(1, 9, size=2 * n_trips + 2) * latency_s * late).tolist()
            yield Case(
                2 + number % 3, f"{n_bytes:,} bytes, {n_trips} round trips, another network"
                + ", on which each message is late by chance" * late, calls=2 - late,
                seed=secret + number, rendezvous=number % 2 == 1,
                network=Network("unknown", latency_s, bandwidth, 1e10),
                faults=_delays(late_s) if late else None,
                settings={"n_bytes": n_bytes, "n_trips": n_trips, "late_s": tuple(late_s)},
            )  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Give the same two numbers to all."""
        return case.settings["n_bytes"], case.settings["n_trips"]

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Price one message: latency and bytes over bandwidth, and what made it late."""
        return [_means_s(case)[0], *[None] * (case.workers - 1)]

    def compare(self, case: Case, arguments: Given, got: Sequence[Any]) -> Difference | None:
        """Take the mean without the first round trip as well, and that over one more."""
        wrong, *others = (
            first_difference(
                [mean_s, *[None] * (case.workers - 1)], got, n_terms=self.rounding_terms
            )
            for mean_s in _means_s(case)
        )
        return wrong if all(others) else None

    def price(self, case: Case) -> Price:
        """Send two messages a round trip."""
        n_bytes, n_trips = case.settings["n_bytes"], case.settings["n_trips"]
        return Price(2 * n_trips, 2 * n_trips * n_bytes, n_trips * n_bytes)

    def budget(self, case: Case) -> Price:
        """Allow one round trip to warm up."""
        n_bytes, n_trips = case.settings["n_bytes"], case.settings["n_trips"] + 1
        return Price(2 * n_trips, 2 * n_trips * n_bytes, n_trips * n_bytes)

    def least(self, case: Case) -> Price:
        """Ask for all the round trips, with all the bytes."""
        return self.price(case)

    def mistakes(self, case: Case, arguments: Given) -> Iterator[Mistake]:
        """Recognise the usual ones."""
        one_s, trips, rest = _one_way_s(case), case.settings["n_trips"], [None] * (case.workers - 1)
        network: Network = case.network
        sending_s = case.settings["n_bytes"] * network.beta_s_per_byte
        yield Mistake(
            "round-trip", "exactly twice as long: a round trip is two messages", [2 * one_s, *rest]
        )
        yield Mistake(
            "total", f"this is the time of all {trips} round trips: divide by their messages",
            [2 * trips * one_s, *rest],
        )  # fmt: skip
        yield Mistake(
            "all-pings", "this is the time of all pings: divide by the number of round trips too",
            [trips * one_s, *rest],
        )  # fmt: skip
        yield Mistake(
            "eight-bytes", "n_bytes float64 numbers have 8 n_bytes bytes: make an array of bytes, "
            "np.zeros(n_bytes, dtype=np.uint8)",
            [network.latency_s + 8 * sending_s, *rest],
        )  # fmt: skip
        yield Mistake("no-time", "the clock was read twice at the same moment: read it before the "
                      "first send and after the last recv", [0.0, *rest])  # fmt: skip
        late_s = case.settings.get("late_s", ())
        for trip in range(len(late_s) // 2):
            one_trip_s = sum(late_s[2 * trip : 2 * trip + 2])
            yield Mistake(
                "one-trip", "this is the time of a single round trip: read the clock before the "
                "first send and after the last recv, and take the mean over all of them",
                [float(one_s + one_trip_s / 2), *rest],
            )  # fmt: skip

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice who returns, a clock that does not tell virtual time, and one that stops early."""
        value = got[0]
        if wrong.rank != 0:
            return Hint("all-return", "only rank 0 has the time; the others return None")
        if value is None and any(isinstance(other, float) for other in got):
            return Hint("other-returns", "rank 0 returns the time, by its own clock; the others "
                        "return None")  # fmt: skip
        if isinstance(value, list) or (isinstance(value, np.ndarray) and value.size > 1):
            return Hint("one-number", "one number is asked for: the mean of all these times")
        if not isinstance(value, float):
            return None
        one_s, trips = _one_way_s(case), case.settings["n_trips"]
        ran = value * trips / one_s
        if ran > 0.5 and abs(ran - round(ran)) < 1e-6:
            s = "s" * (round(ran) != 1)
            return Hint(
                "wrong-count",
                f"the time of {round(ran)} round trip{s}, divided by the messages of {trips}; "
                f"does the loop go {trips} times, and is the clock read once before it, not in it?",
            )
        if any(value in (round(mean_s, n) for n in range(3, 10)) for mean_s in _means_s(case)):
            return Hint("rounded", "right, but rounded: return the number as it is")
        if value < one_s:
            return Hint("too-early", "less than one message takes: send returns before the message "
                        "has arrived; wait for the answer, on one and the same clock")  # fmt: skip
        return Hint("wrong-clock", "does the time come from comm.clock(), on rank 0, and is it "
                    "the mean over all messages, no median, and no trip left out?")  # fmt: skip


def _delays(late_s: Sequence[float]) -> Faults:
    """Hold up each message, there and back again."""
    return Faults(
        Delay(number % 2, 1 - number % 2, number // 2 + 1, float(by_s))
        for number, by_s in enumerate(late_s)
    )


def _means_s(case: Case) -> list[float]:
    """Give what a message takes in the mean: of all trips, but for the first, or of one more."""
    one_s, late_s = _one_way_s(case), case.settings.get("late_s", (0.0,) * 4)
    return [one_s + float(np.mean(part)) for part in (late_s[:-2], late_s[2:], late_s)]


def _one_way_s(case: Case) -> float:
    network: Network = case.network
    return network.latency_s + int(case.settings["n_bytes"]) * network.beta_s_per_byte


TASK = PingPong()
