"""How long does a message take? Send it to and fro, and look at the clock."""

from collections.abc import Iterator, Sequence
from typing import Any

from course_lib.checks.comparator import Difference
from course_lib.checks.task import Case, Given, Hint, Mistake, Price, Task
from course_lib.comm.simulated.networks import Network, ethernet_10g


class PingPong(Task):
    """Rank 0 returns the seconds of one message between ranks 0 and 1; the others return None."""

    name = "ping_pong"
    title = "Measure how long one message takes."
    takes = ("n_bytes", "n_trips")
    verbs = ("send", "recv")
    rounding_terms = 1 << 20  # a clock that has counted n round trips has rounded 4n times
    deadlock_hint = "rank 0 sends, then receives; rank 1 receives, then sends"

    def cases(self, secret: int) -> Iterator[Case]:
        """Try networks that nobody can guess."""
        yield Case(
            2, "1,000 bytes, 3 round trips, 10-gigabit Ethernet", calls=1,
            network=ethernet_10g, settings={"n_bytes": 1000, "n_trips": 3},
        )  # fmt: skip
        yield Case(
            4, "1,000 bytes, 3 round trips, ranks 2 and 3 idle", calls=1,
            network=ethernet_10g, settings={"n_bytes": 1000, "n_trips": 3},
        )  # fmt: skip
        for number in range(6):
            rng = Case(1, "", seed=secret + number).rng(0, 0)
            latency_s, bandwidth = 10 ** rng.uniform(-6, -3), 10 ** rng.uniform(6, 10)
            n_bytes, n_trips = int(rng.integers(1, 100_000)), int(rng.integers(1, 20))
            yield Case(
                2 + number % 3, f"{n_bytes:,} bytes, {n_trips} round trips, another network",
                seed=secret + number, rendezvous=number % 2 == 1,
                network=Network("unknown", latency_s, bandwidth, 1e10),
                settings={"n_bytes": n_bytes, "n_trips": n_trips},
            )  # fmt: skip

    def arguments(self, case: Case, rank: int, call: int) -> tuple[Any, ...]:
        """Give the same two numbers to all."""
        return case.settings["n_bytes"], case.settings["n_trips"]

    def expected(self, case: Case, arguments: Given) -> list[Any]:
        """Price one message: latency and bytes over bandwidth."""
        return [_one_way_s(case), *[None] * (case.workers - 1)]

    def price(self, case: Case) -> Price:
        """Send two messages a round trip."""
        n_bytes, n_trips = case.settings["n_bytes"], case.settings["n_trips"]
        return Price(2 * n_trips, 2 * n_trips * n_bytes, n_trips * n_bytes)

    def budget(self, case: Case) -> Price:
        """Allow one round trip to warm up."""
        n_bytes, n_trips = case.settings["n_bytes"], case.settings["n_trips"] + 1
        return Price(2 * n_trips, 2 * n_trips * n_bytes, n_trips * n_bytes)

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
        yield Mistake("all-return", "only rank 0 has the time; the others return None",
                      [one_s] * case.workers)  # fmt: skip
        yield Mistake("no-time", "the clock was read twice at the same moment: read it before the "
                      "first send and after the last recv", [0.0, *rest])  # fmt: skip

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Notice a clock that does not tell virtual time, and one that stops too early."""
        value = got[0]
        if not isinstance(value, float) or wrong.rank != 0:
            return None
        one_s, trips = _one_way_s(case), case.settings["n_trips"]
        ran = value * trips / one_s
        if ran > 0.5 and abs(ran - round(ran)) < 1e-6:
            return Hint(
                "wrong-count",
                f"the time of {round(ran)} round trips, divided by the messages of {trips}; "
                f"does the loop go {trips} times?",
            )
        if value < one_s:
            return Hint("too-early", "less than one message takes: send returns before the message "
                        "has arrived; wait for the answer")  # fmt: skip
        return Hint("wrong-clock", "does the time come from comm.clock(), and from nothing else?")


def _one_way_s(case: Case) -> float:
    network: Network = case.network
    return network.latency_s + int(case.settings["n_bytes"]) * network.beta_s_per_byte


TASK = PingPong()
