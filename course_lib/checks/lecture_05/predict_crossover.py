"""The length from which on the ring is faster than the butterfly, predicted and measured."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from course_lib.checks.comparator import Difference
from course_lib.checks.plain import plain_number
from course_lib.checks.prediction import Alternative, PredictTask, short
from course_lib.checks.task import Case, Given
from course_lib.comm.launch import run
from course_lib.comm.simulated.networks import Network

_EXACT = 1e-4  # of the number; usual mistakes are off by a third and more


class PredictCrossover(PredictTask):
    """Where ``log2(P) (alpha + n beta)`` equals ``2 (P - 1) (alpha + n / P beta)``."""

    name = "predict_crossover"
    title = "Predict the length at which butterfly and ring take equally long, then measure it."
    units: ClassVar[Mapping[str, str]] = {"n_bytes": "bytes", "seconds": "s"}
    questions = ("n_workers", "latency_s", "bandwidth_bytes_per_s")
    rounding_terms = 1 << 20  # the clock adds rounds up, and the lines' difference is a small one
    other_number = (
        "write both times as a + b n, with P = 4 and the numbers of the case; '{name}' belongs to "
        "the point where they meet"
    )

    def tried(self) -> Sequence[tuple[Any, ...]]:
        """Begin with four and eight workers on the lecture's network."""
        return (4, 20e-6, 1.25e9), (8, 20e-6, 1.25e9), (16, 5e-6, 12.5e9)

    def told(self, numbers: tuple[Any, ...]) -> str:
        """Write microseconds and megabytes per second: a float's own digits are hard to read."""
        n_workers, latency_s, bandwidth = numbers
        latency, speed = f"{latency_s * 1e6:,.4g} microseconds", f"{bandwidth / 1e6:,.6g} MB/s"
        return f"{n_workers} workers, {latency}, {speed}"

    def _unforeseen(self, secret: int) -> Any:
        rng = np.random.default_rng([secret, 6])
        for n_workers in (4, 8, 16):
            latency_us, megabytes_per_s = 10 ** rng.uniform(0, 3), 10 ** rng.uniform(1, 4)
            yield n_workers, short(latency_us) * 1e-6, short(megabytes_per_s) * 1e6

    def measure(self, *numbers: Any) -> dict[str, Any]:
        """Time both at two lengths, and let the lines through them meet."""
        from course_lib.collectives import allreduce_butterfly, allreduce_ring

        n_workers, latency_s, bandwidth = numbers
        network = Network("unknown", latency_s, bandwidth, 1e10)
        short, long = 8 * n_workers, 8 * n_workers * 1000

        def line(collective: Callable[..., Any]) -> tuple[float, float]:
            times = [
                run(collective, np.zeros(n // 8), workers=n_workers, backend="simulated",
                    network=network).elapsed_s
                for n in (short, long)
            ]  # fmt: skip
            slope = (times[1] - times[0]) / (long - short)
            return times[0] - slope * short, slope

        (butterfly_s, butterfly_slope), (ring_s, ring_slope) = map(
            line, (allreduce_butterfly, allreduce_ring)
        )
        n_bytes = (ring_s - butterfly_s) / (butterfly_slope - ring_slope)
        return {"n_bytes": n_bytes, "seconds": ring_s + ring_slope * n_bytes}

    def compare(self, case: Case, arguments: Given, got: Sequence[Any]) -> Difference | None:
        """Take what is right to a ten-thousandth, or to two bytes."""
        right = self.expected(case, arguments)[0]
        if isinstance(got[0], dict) and set(got[0]) == set(right):
            n_bytes = plain_number(got[0]["n_bytes"])
            seconds = plain_number(got[0]["seconds"])
            numbers = all(
                isinstance(value, int | float) and not isinstance(value, bool)
                for value in (n_bytes, seconds)
            )
            if numbers and abs(n_bytes - right["n_bytes"]) <= max(2, _EXACT * right["n_bytes"]):
                off = max(_EXACT, 2 / right["n_bytes"])
                if abs(seconds - right["seconds"]) <= off * right["seconds"]:
                    return None
        return super().compare(case, arguments, got)

    def alternatives(self, *numbers: Any) -> Mapping[str, Sequence[Alternative]]:
        """Know the usual mistakes."""
        size, alpha, bandwidth = numbers
        beta, log_p, steps = 1 / bandwidth, math.log2(size), 2 * (size - 1)

        def meet(rounds: float, vectors: float, ring_rounds: float, ring_vectors: float) -> float:
            slope = vectors - ring_vectors
            return (ring_rounds - rounds) * alpha / (slope * beta) if slope else math.inf

        right = meet(log_p, log_p, steps, steps / size)
        return {
            "n_bytes": [
                ("factor-2", "a ring has two halves, 2 (P - 1) rounds; a butterfly has log2(P) "
                 "rounds, half as many as a tree",
                 meet(log_p, log_p, size - 1, (size - 1) / size)),
                ("P-rounds", "P - 1 rounds in each half, not P",
                 meet(log_p, log_p, 2 * size, steps / size)),
                ("natural-log", "the number of rounds is the logarithm to base 2",
                 meet(math.log(size), math.log(size), steps, steps / size)),
                ("whole-vectors", "a ring sends chunks of n / P bytes, not n",
                 meet(log_p, log_p, steps, steps)),
                ("one-vector", "a butterfly sends the whole vector in each of its rounds, not once",
                 meet(log_p, 1, steps, steps / size)),
                ("no-ring-latency", "the ring's latency is not one message's: it has 2 (P - 1) "
                 "rounds", meet(log_p, log_p, 1, steps / size)),
                ("not-full-duplex", "a NIC sends and receives at the same time: a round of the "
                 "butterfly takes n beta, not twice that",
                 meet(log_p, 2 * log_p, steps, steps / size)),
                ("a-round-more", f"with {size} workers the butterfly has {log_p:g} rounds; and "
                 "the size of a whole array is asked for, not that of a chunk",
                 meet(log_p + 1, log_p + 1, steps, steps / size)),
                ("power-of-two", "this is the first power of two beyond the meeting point: solve "
                 "for n instead of trying lengths", 2.0 ** math.ceil(math.log2(right))),
                ("numbers", "this is counted in float64 numbers; bytes are asked for", right / 8),
                ("bits", "bandwidth is in bytes per second already", right * 8),
                ("inverse", "this is upside down: more latency helps the butterfly, more bandwidth "
                 "too", right * (beta / alpha) ** 2),
                ("bandwidth-as-beta", "beta is 1 / bandwidth, the seconds a byte takes; here the "
                 "bandwidth stands in its place", right * beta**2),
                ("four-only", "8 alpha / beta is right for 4 workers: let P into the formula",
                 8 * alpha / beta),
            ],
            "seconds": [
                ("one-round", "this is one round of the butterfly; it has log2(P)",
                 alpha + right * beta),
                ("no-latency", "the rounds' latency is missing", log_p * right * beta),
                ("no-bytes", "this is latency only: the bytes take time too", log_p * alpha),
                ("both", "not both added: each of them takes this long",
                 2 * log_p * (alpha + right * beta)),
                ("microseconds", "in seconds, please", 1e6 * log_p * (alpha + right * beta)),
            ],
        }  # fmt: skip


TASK = PredictCrossover()
