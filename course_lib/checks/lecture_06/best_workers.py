"""The number of workers with the shortest step."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from course_lib.checks.lecture_06.answers import ChoiceTask, Wrong
from course_lib.checks.prediction import short


class BestWorkers(ChoiceTask):
    """Where ``ceil(B / P) c + 2 (P - 1) (alpha + n / P beta)`` is smallest."""

    name = "best_workers"
    title = "Find the number of workers with the shortest step."
    units: ClassVar[Mapping[str, str]] = {"workers": "workers", "seconds": "s"}
    questions = ("batch", "example_s", "n_bytes", "latency_s", "bandwidth_bytes_per_s")
    rounding_terms = 1 << 10
    other_number = (
        "work T(P) out by hand for the P of this answer and for the expected one: "
        "ceil(batch / P) examples, then the ring; '{name}' belongs to the smallest of all"
    )

    def tried(self) -> Sequence[tuple[Any, ...]]:
        """Begin with a case in which neither one nor all are best."""
        return (
            (64, 1e-3, 8_000_000, 1e-4, 1.25e9),
            (128, 2e-4, 4_000_000, 5e-5, 1.25e9),
            (32, 1e-3, 400_000_000, 1e-4, 1.25e8),
            (48, 1e-2, 1_000_000, 1e-6, 1.25e10),
            (38, 1e-3, 1_000_000, 1e-4, 1.25e9),
            (1000, 1e-3, 1_000, 5e-6, 1.25e9),
        )

    def told(self, numbers: tuple[Any, ...]) -> str:
        """Write what a reader can check by hand."""
        batch, example_s, n_bytes, latency_s, bandwidth = numbers
        return (
            f"{batch} examples of {example_s * 1e3:.4g} ms, {n_bytes / 1e6:,.4g} MB, "
            f"{latency_s * 1e6:.4g} microseconds, {bandwidth / 1e6:,.5g} MB/s"
        )

    def _unforeseen(self, secret: int) -> Any:
        rng = np.random.default_rng([secret, 64])
        for _ in range(4):
            example_ms, latency_us = 10 ** rng.uniform(-1, 1), 10 ** rng.uniform(1, 3)
            n_bytes, bandwidth = 10 ** rng.uniform(5, 8), 10 ** rng.uniform(8.5, 10)
            yield (int(rng.integers(10, 200)), short(example_ms) * 1e-3, int(short(n_bytes)),
                   short(latency_us) * 1e-6, short(bandwidth))  # fmt: skip

    def measure(self, *numbers: Any) -> dict[str, Any]:
        """Try every number of workers from one to one an example."""
        return _least(numbers[0], _time_s(*numbers))

    def given(self, choice: int, *numbers: Any) -> dict[str, Any] | None:
        """Take any number of workers whose step is as short as the shortest."""
        time_s, least_s = _time_s(*numbers), self.measure(*numbers)["seconds"]
        fits = 1 <= choice <= numbers[0] and math.isclose(time_s(choice), least_s, rel_tol=1e-9)
        return _at(choice, time_s) if fits else None

    def wrong_answers(self, *numbers: Any) -> Sequence[Wrong]:
        """Know the usual mistakes."""
        batch, example_s, n_bytes, alpha, bandwidth = numbers
        right, beta = _time_s(*numbers), 1 / bandwidth
        powers = [2**k for k in range(batch.bit_length()) if 2**k <= batch]
        smooth = math.sqrt(batch * example_s / (2 * alpha))
        best = self.measure(*numbers)["workers"]
        divisors = [k for k in range(1, batch + 1) if batch % k == 0]
        local = next((k for k in range(1, batch) if right(k + 1) > right(k)), batch)
        return [
            ("no-ceiling", "a worker cannot have half an example: the largest share is "
             "ceil(batch / P), and the others wait for it; a root knows nothing of that: try all P",
             _least(batch, lambda n: batch / n * example_s + _ring_s(n, n_bytes, alpha, beta))),
            ("floor", "somebody has the examples that are left over: the largest share is "
             "ceil(batch / P), not batch // P",
             _least(batch, lambda n: batch // n * example_s + _ring_s(n, n_bytes, alpha, beta))),
            ("one-half", "a ring has two halves: 2 (P - 1) steps with a chunk each",
             _least(batch, lambda n: -(-batch // n) * example_s
                    + _ring_s(n, n_bytes, alpha, beta) / 2)),
            ("N-steps", "a ring takes P - 1 steps in each half, not P",
             _least(batch, lambda n: -(-batch // n) * example_s
                    + 2 * n * (alpha + n_bytes / n * beta))),
            ("whole-vectors", "a ring's steps carry chunks of n_bytes / P, not n_bytes",
             _least(batch, lambda n: -(-batch // n) * example_s
                    + 2 * (n - 1) * (alpha + n_bytes * beta))),
            ("no-latency", "each of the ring's 2 (P - 1) steps takes a latency, too",
             _least(batch, lambda n: -(-batch // n) * example_s
                    + _ring_s(n, n_bytes, 0.0, beta))),
            ("no-bytes", "the bytes take time, too: a chunk of n_bytes / P in each step",
             _least(batch, lambda n: -(-batch // n) * example_s
                    + _ring_s(n, 0, alpha, beta))),
            ("powers-of-two", "other numbers than powers of two are numbers as well",
             _at(min(powers, key=right), right)),
            ("all-of-them", "one worker an example is not always best: the ring grows with P",
             _at(batch, right)),
            ("smooth", "the root is where the smooth function is smallest; whole examples and "
             "whole workers move it: compare T for all P",
             _at(min(batch, max(1, round(smooth))), right)),
            ("cheapest", "one worker is the cheapest; the fastest is asked for. Or was the batch "
             "not partitioned, ceil(batch / P) examples for each?", _at(1, right)),
            ("last-left-out", "batch workers are possible, too: range(1, batch + 1)",
             _least(max(1, batch - 1), right)),
            *(("up-to-batch", "P goes up to batch, however large that is",
               _least(min(batch, most), right)) for most in (32, 64, 100, 128, 200, 256)),
            ("local", f"T({best}) is shorter than T({local}), though T({local + 1}) is longer: "
             "with ceil the times go up and down, so go on to P = batch", _at(local, right)),
            ("divisors", "P need not divide the batch: ceil(batch / P) is for any P",
             _at(min(divisors, key=right), right)),
            ("index", "the seconds belong to one worker more: a list's first item has the index 0",
             {"workers": best - 1, "seconds": right(best)}),
            ("no-ring", "this is the computing alone: the ring's time is missing",
             {"workers": best, "seconds": -(-batch // best) * example_s}),
            ("round", "ceil, not round: the worker with the most examples sets the pace",
             _least(batch, lambda n: round(batch / n) * example_s
                    + _ring_s(n, n_bytes, alpha, beta))),
            ("maximum", "the ring begins when all is computed: add the two times",
             _least(batch, lambda n: max(-(-batch // n) * example_s,
                                         _ring_s(n, n_bytes, alpha, beta)))),
            ("rounds-down", "no time is below 0: -(-batch // P) rounds up, -batch // P does not",
             _least(batch, lambda n: -batch // n * example_s + _ring_s(n, n_bytes, alpha, beta))),
        ]  # fmt: skip


def _ring_s(size: int, n_bytes: float, alpha: float, beta: float) -> float:
    return 2 * (size - 1) * (alpha + n_bytes / size * beta)


def _time_s(
    batch: int, example_s: float, n_bytes: int, latency_s: float, bandwidth: float
) -> Callable[[int], float]:
    def time_s(size: int) -> float:
        return -(-batch // size) * example_s + _ring_s(size, n_bytes, latency_s, 1 / bandwidth)

    return time_s


def _least(batch: int, time_s: Callable[[int], float]) -> dict[str, Any]:
    return _at(min(range(1, batch + 1), key=lambda size: (time_s(size), size)), time_s)


def _at(size: int, time_s: Callable[[int], float]) -> dict[str, Any]:
    return {"workers": size, "seconds": time_s(size)}


TASK = BestWorkers()
