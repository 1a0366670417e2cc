"""How long a step with one server takes, and how much of it a worker computes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from course_lib.checks.comparator import Difference
from course_lib.checks.prediction import Alternative, PredictTask, short
from course_lib.checks.task import Case, Given, Hint
from course_lib.comm.simulated.networks import Network
from course_lib.models.stand_in import StandIn


class PredictStep(PredictTask):
    """The longer of two chains, and the update."""

    name = "predict_step"
    title = "Predict the seconds of a step and its efficiency, then measure them."
    units: ClassVar[Mapping[str, str]] = {"seconds": "s"}
    questions = (
        "n_workers", "n_bytes", "gradient_s", "update_s", "latency_s", "bandwidth_bytes_per_s",
    )  # fmt: skip
    rounding_terms = 1 << 16  # the clock adds up many steps, and the result is a difference
    other_number = (
        "draw the two chains for 2 workers, with the numbers of the case; {name} follows from the "
        "longer one"
    )

    def tried(self) -> Sequence[tuple[Any, ...]]:
        """Begin with one case of each chain."""
        return (
            (4, 800_000, 8e-3, 1.3e-4, 20e-6, 1.25e9),
            (16, 800_000, 2e-3, 1.3e-4, 20e-6, 1.25e9),
            (1, 400_000, 1e-3, 2e-5, 5e-6, 12.5e9),
            (12, 800_000, 0.1, 1.3e-4, 20e-6, 12.5e9),
            (4, 800_000, 1e-4, 1.3e-4, 20e-6, 1.25e9),
            (1, 800_000, 2e-3, 1e-4, 20e-6, 125e6),
        )

    def told(self, numbers: tuple[Any, ...]) -> str:
        """Write milliseconds and megabytes per second: a float's own digits are hard to read."""
        n_workers, n_bytes, gradient_s, update_s, latency_s, bandwidth = numbers
        workers = "1 worker" if n_workers == 1 else f"{n_workers} workers"
        times_s = {"gradient": gradient_s, "update": update_s, "latency": latency_s}
        words = [f"{name} {seconds * 1e3:.4g} ms" for name, seconds in times_s.items()]
        return ", ".join([workers, f"{n_bytes:,} bytes", *words, f"{bandwidth / 1e6:,.6g} MB/s"])

    def _unforeseen(self, secret: int) -> Iterator[Any]:
        rng = np.random.default_rng([secret, 7])
        for ratio in (0.2, 1.0, 5.0):  # of computing to what the NIC carries
            n_workers = int(rng.integers(2, 12))
            n_bytes = 8 * int(rng.integers(4_000, 20_000))
            bandwidth = short(10 ** rng.uniform(2, 4)) * 1e6
            nic_s = 2 * n_workers * n_bytes / bandwidth
            yield (
                n_workers, n_bytes, short(ratio * nic_s * rng.uniform(0.8, 1.2)),
                short(nic_s * rng.uniform(0.01, 0.1)), short(10 ** rng.uniform(-6, -4)),
                bandwidth,
            )  # fmt: skip

    def measure(self, *numbers: Any) -> dict[str, Any]:
        """Train a model on paper on a network with these numbers."""
        from course_lib.measure.training_step import one_step
        from course_lib.schemes import parameter_server

        n_workers, n_bytes, gradient_s, update_s, latency_s, bandwidth = numbers
        flops_per_s = 2 * (n_bytes // 8) / update_s
        model = StandIn.of({"all": n_bytes // 8}, flops_per_example=gradient_s * flops_per_s)
        network = Network("unknown", latency_s, bandwidth, flops_per_s)
        step = one_step(parameter_server, model, workers=n_workers, network=network)
        return {"seconds": step.seconds, "efficiency": gradient_s / step.seconds}

    def alternatives(self, *numbers: Any) -> Mapping[str, Sequence[Alternative]]:
        """Know the usual mistakes."""
        workers, n_bytes, gradient_s, update_s, latency_s, bandwidth = numbers
        on_nic_s = n_bytes / bandwidth
        computing_s = gradient_s + (workers + 1) * (latency_s + on_nic_s)
        nic_s = 2 * workers * on_nic_s + workers * latency_s
        right = max(computing_s, nic_s) + update_s
        wrong = [
            ("no-update", "the update is missing: nothing is fetched before it", right - update_s),
            *(("one-chain", "only one of the two chains: the step lasts as long as the longer one",
               chain_s + update_s) for chain_s in (computing_s, nic_s)),
            ("both-chains", "both chains were added up: they run side by side, and the step lasts "
             "as long as the longer one", computing_s + nic_s + update_s),
            ("one-missing", "the last worker's gradient is pushed after all P fetches, so P + 1 "
             "messages are on its chain: all P fetches, and its own push",
             max(computing_s - latency_s - on_nic_s, nic_s) + update_s),
            *(("no-overlap", "rank 1 computes while others still fetch: the NIC's time and the "
               "gradient do not add up", gradient_s + on_the_way_s + update_s)
              for on_the_way_s in (2 * workers * on_nic_s, nic_s,
                                   2 * workers * (latency_s + on_nic_s))),
            ("one-worker", "the pushes go through the server's NIC one after the other: P of them",
             gradient_s + 2 * (latency_s + on_nic_s) + update_s),
            ("latencies", "the parameters go out without a pause: P latencies, not 2 P",
             max(computing_s, nic_s + workers * latency_s) + update_s),
            ("latencies", "each push waits for its receive: P latencies, not one",
             max(computing_s, 2 * workers * on_nic_s + latency_s) + update_s),
            ("latencies", "each push waits for its receive: P latencies, not one",
             max(computing_s - (workers - 1) * latency_s, 2 * workers * on_nic_s + latency_s)
             + update_s),
            ("first-fetch", "the computing chain begins with the first fetch alone, not with all P",
             max(computing_s + (workers - 1) * on_nic_s, nic_s) + update_s),
            ("no-latency", "the latencies are missing",
             max(gradient_s + (workers + 1) * on_nic_s, 2 * workers * on_nic_s) + update_s),
            ("bits", "bandwidth is in bytes per second already",
             max(gradient_s + (workers + 1) * (latency_s + 8 * on_nic_s),
                 2 * workers * 8 * on_nic_s + workers * latency_s) + update_s),
        ]  # fmt: skip
        return {
            "seconds": [*wrong, ("milliseconds", "in seconds, please", 1e3 * right)],
            "efficiency": [
                *((hint, text, gradient_s / seconds) for hint, text, seconds in wrong),
                ("percent", "a part of 1, not of 100", 100 * gradient_s / right),
                ("other-part", "this is the part in which the worker does *not* compute",
                 1 - gradient_s / right),
                ("other-part", "divide by the whole step, not by the rest of it",
                 gradient_s / (right - gradient_s)),
                ("upside-down", "this is upside down: at most 1, please", right / gradient_s),
            ],
        }  # fmt: skip

    def explain(
        self, case: Case, arguments: Given, got: Sequence[Any], wrong: Difference
    ) -> Hint | None:
        """Leave the chains alone where the seconds are right."""
        hint = super().explain(case, arguments, got, wrong)
        if hint is None or hint.id not in ("other-number", "nearly"):
            return hint
        if wrong.where == "'efficiency'":
            return Hint("other-number", "the seconds are right; efficiency has the gradient's "
                        "alone above, and the whole step's below")  # fmt: skip
        return hint


TASK = PredictStep()
