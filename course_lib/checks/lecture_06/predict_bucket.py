"""How many layers to put into a bucket, predicted and measured."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np

from course_lib.checks.comparator import Difference
from course_lib.checks.lecture_06.answers import ChoiceTask, Wrong
from course_lib.checks.lecture_06.steps import in_turn_s
from course_lib.checks.plain import plain_number
from course_lib.checks.prediction import is_number, short
from course_lib.checks.task import Case, Given, Hint
from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.comm.pending import Pending
from course_lib.comm.simulated.networks import Network

_FLOPS_PER_S = 1e12
_NOTHING_HIDES = (
    "this hides nothing: smaller buckets leave as soon as they are full, while the backward pass "
    "goes on, and not all of their exchange comes after it"
)


class PredictBucket(ChoiceTask):
    """Equal layers; a ring for each bucket, one after the other, during the backward pass."""

    name = "predict_bucket"
    title = "Predict how many layers belong into a bucket, then measure it."
    units: ClassVar[Mapping[str, str]] = {"layers": "layers", "seconds": "s"}
    questions = (
        "n_layers", "layer_bytes", "backward_s", "n_workers", "latency_s",
        "bandwidth_bytes_per_s",
    )  # fmt: skip
    rounding_terms = 1 << 20
    other_number = (
        "for 2 layers a bucket, draw computing and network of the case under each other; then "
        "write the same as a loop over the buckets, and look for the {name} of the fastest"
    )

    def tried(self) -> Sequence[tuple[Any, ...]]:
        """Begin with a case in which neither one layer nor all of them are best."""
        return (
            (10, 80_000, 3.5e-4, 4, 1e-4, 1.25e9),
            (6, 800_000, 2e-3, 4, 2e-5, 1.25e9),
            (5, 8_000, 1e-5, 8, 1e-4, 1.25e9),
            (7, 160_000, 4e-4, 2, 1e-4, 1.25e9),
        )

    def told(self, numbers: tuple[Any, ...]) -> str:
        """Write what a reader can check by hand."""
        n_layers, layer_bytes, backward_s, n_workers, latency_s, bandwidth = numbers
        return (
            f"{n_layers} layers of {layer_bytes:,} bytes and {backward_s * 1e6:.4g} microseconds, "
            f"{n_workers} workers, {latency_s * 1e6:.4g} microseconds, {bandwidth / 1e6:,.5g} MB/s"
        )

    def _unforeseen(self, secret: int) -> Any:
        rng = np.random.default_rng([secret, 65])
        for n_workers in (2, 4, 8):
            layer_bytes = 8 * n_workers * int(rng.integers(100, 4000))
            backward_us, latency_us = 10 ** rng.uniform(1.5, 3), 10 ** rng.uniform(1, 2.5)
            yield (int(rng.integers(3, 10)), layer_bytes, short(backward_us) * 1e-6, n_workers,
                   short(latency_us) * 1e-6, 1.25e9)  # fmt: skip

    def measure(self, *numbers: Any) -> dict[str, Any]:
        """Compare all bucket sizes on paper, and run the best."""
        best = _least(numbers[0], step_on_paper(*numbers))
        return {"layers": best["layers"], "seconds": run_buckets(best["layers"], *numbers)}

    def given(self, choice: int, *numbers: Any) -> dict[str, Any] | None:
        """Take any bucket with which the last exchange is over as soon as it can be."""
        time_s, least_s = step_on_paper(*numbers), self.measure(*numbers)["seconds"]
        fits = 1 <= choice <= numbers[0] and math.isclose(time_s(choice), least_s, rel_tol=1e-9)
        return _at(choice, time_s) if fits else None

    def wrong_answers(self, *numbers: Any) -> Sequence[Wrong]:
        """Know the usual mistakes."""
        n_layers, layer_bytes, backward_s, size, alpha, bandwidth = numbers
        right, beta = step_on_paper(*numbers), 1 / bandwidth
        best = _least(n_layers, right)["layers"]

        def with_ring(ring_s: Callable[[float], float]) -> dict[str, float]:
            return _least(n_layers, _paper(n_layers, layer_bytes, backward_s, ring_s))

        def ring_s(n: float) -> float:
            return float(2 * (size - 1) * (alpha + n / size * beta))

        def side_by_side(layers: int) -> float:
            sizes = _buckets(n_layers, layers)
            ready_s = [backward_s * layers_so_far for layers_so_far in accumulate(sizes)]
            ends_s = [ring_s(size * layer_bytes) for size in sizes]
            return max(float(at) + ring for at, ring in zip(ready_s, ends_s, strict=True))

        return [
            ("no-latency", "every bucket costs its 2 (P - 1) latencies",
             with_ring(lambda n: 2 * (size - 1) / size * n * beta)),
            ("one-latency", "a ring has 2 (P - 1) steps, and each takes a latency",
             with_ring(lambda n: alpha + 2 * (size - 1) / size * n * beta)),
            ("one-half", "a ring has two halves: 2 (P - 1) steps",
             with_ring(lambda n: (size - 1) * (alpha + n / size * beta))),
            ("whole-vectors", "a ring's steps carry chunks of n / P bytes, not n",
             with_ring(lambda n: 2 * (size - 1) * (alpha + n * beta))),
            ("side-by-side", "the network carries one bucket at a time: the next one waits",
             _least(n_layers, side_by_side)),
            *(("all-layers", _NOTHING_HIDES, _least(n_layers, late))
              for late in _at_the_end(n_layers, layer_bytes, backward_s, ring_s)),
            ("last-bucket", "the last bucket may have fewer layers than the others, and be faster",
             _least(n_layers, lambda layers: _in_turn([layers] * -(-n_layers // layers),
                                                      layer_bytes, backward_s, ring_s))),
            ("one-layer", "a bucket of one layer wastes latencies: compare the times",
             _at(1, right)),
            ("all-layers", _NOTHING_HIDES, _at(n_layers, right)),
            ("last-bucket", "a number that does not divide n_layers will do as well: the last "
             "bucket has the layers that are left",
             _at(min((k for k in range(1, n_layers + 1) if n_layers % k == 0), key=right), right)),
            ("rest-left-out", "the layers that are left over never leave: the last bucket has "
             "fewer, and must leave too", _least(n_layers, lambda layers: _in_turn(
                 [layers] * (n_layers // layers), layer_bytes, backward_s, ring_s))),
            ("rest-first", "the last bucket is the short one, not the first: buckets fill in the "
             "order of the backward pass", _least(n_layers, lambda layers: _in_turn(
                 _buckets(n_layers, layers)[::-1], layer_bytes, backward_s, ring_s))),
            ("how-many", "this is how many buckets there are; how many layers each has is asked "
             "for", {"layers": -(-n_layers // best), "seconds": right(best)}),
            ("forward-too", "seconds count from the start of the backward pass: no forward pass "
             "before it", {"layers": best, "seconds": right(best) + n_layers * backward_s / 2}),
            ("zero", "no step takes 0 s: was the best time set to 0 before the loop? Begin with "
             "math.inf", {"layers": 1, "seconds": 0.0}),
        ]  # fmt: skip

    def explain(self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference) -> Any:
        """Notice a choice whose time is right, unless a usual mistake gives both."""
        numbers = arguments[0]
        choice = plain_number(got[0].get("layers")) if isinstance(got[0], dict) else None
        if isinstance(choice, int) and 1 <= choice <= numbers[0]:
            own = _at(choice, step_on_paper(*numbers))
            both = any(is_number(choice, found["layers"]) and
                       is_number(own["seconds"], found["seconds"])
                       for _, _, found in self.wrong_answers(*numbers))  # fmt: skip
            if not both and is_number(got[0].get("seconds"), own["seconds"]):
                return Hint("not-all-tried", "the seconds are right for that many layers: work "
                            "them out for every size from 1 to n_layers, and take the smallest"
                            )  # fmt: skip
        return super().explain(case, arguments, got, wrong)


def _at_the_end(
    n_layers: int, layer_bytes: int, backward_s: float, ring_s: Callable[[float], float]
) -> tuple[Callable[[int], float], Callable[[int], float]]:
    """Put all buckets after the backward pass; in the second, the last one is full as well."""
    all_s = n_layers * backward_s
    return (
        lambda layers: all_s + sum(ring_s(k * layer_bytes) for k in _buckets(n_layers, layers)),
        lambda layers: all_s + -(-n_layers // layers) * ring_s(layers * layer_bytes),
    )


def step_on_paper(
    n_layers: int, layer_bytes: int, backward_s: float, n_workers: int, latency_s: float,
    bandwidth: float,
) -> Callable[[int], float]:  # fmt: skip
    """Return the seconds of a backward pass and its exchanges, as a function of layers a bucket."""

    def ring_s(n_bytes: float) -> float:
        return 2 * (n_workers - 1) * (latency_s + n_bytes / n_workers / bandwidth)

    return _paper(n_layers, layer_bytes, backward_s, ring_s)


def run_buckets(
    layers: int, n_layers: int, layer_bytes: int, backward_s: float, n_workers: int,
    latency_s: float, bandwidth: float,
) -> float:  # fmt: skip
    """Run one backward pass with so many layers a bucket, in virtual time."""
    network = Network("unknown", latency_s, bandwidth, _FLOPS_PER_S)
    sizes = _buckets(n_layers, layers)
    result = run(_backward, sizes, layer_bytes, backward_s, workers=n_workers,
                 backend="simulated", network=network, trace=False)  # fmt: skip
    return result.elapsed_s


def _backward(comm: Communicator, sizes: list[int], layer_bytes: int, backward_s: float) -> None:
    before: Pending[None] | None = None
    for layers in sizes:
        with comm.compute("backward", flops=layers * backward_s * _FLOPS_PER_S):
            pass
        before = comm.start(_ring_after, before, np.zeros(layers * layer_bytes // 8))
    if before is not None:
        before.wait()


def _ring_after(comm: Communicator, before: Pending[None] | None, bucket: Any) -> None:
    from course_lib.collectives import allreduce_ring

    if before is not None:
        before.wait()
    allreduce_ring(comm, bucket)


def _buckets(n_layers: int, layers: int) -> list[int]:
    """Count the layers in each bucket, in the order in which they leave."""
    return [min(layers, n_layers - start) for start in range(0, n_layers, layers)]


def _paper(
    n_layers: int, layer_bytes: int, backward_s: float, ring_s: Callable[[float], float]
) -> Callable[[int], float]:
    def time_s(layers: int) -> float:
        return _in_turn(_buckets(n_layers, layers), layer_bytes, backward_s, ring_s)

    return time_s


def _in_turn(
    sizes: list[int], layer_bytes: int, backward_s: float, ring_s: Callable[[float], float]
) -> float:
    """Work out when the last of these buckets is over, in the order in which they leave."""
    layers = sizes[::-1]
    return in_turn_s(
        [size * backward_s for size in layers], [ring_s(size * layer_bytes) for size in layers]
    )


def _least(n_layers: int, time_s: Callable[[int], float]) -> dict[str, Any]:
    times = {layers: time_s(layers) for layers in range(1, n_layers + 1)}
    least = min(times.values())
    best = next(k for k, t in times.items() if math.isclose(t, least, rel_tol=1e-9))
    return _at(best, time_s)


def _at(layers: int, time_s: Callable[[int], float]) -> dict[str, Any]:
    return {"layers": layers, "seconds": time_s(layers)}


TASK = PredictBucket()
