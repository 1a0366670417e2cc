"""Arithmetic against the network in a data-parallel step, predicted, then measured."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from course_lib.checks.prediction import Alternative, PredictTask
from course_lib.checks.task import Case
from course_lib.collectives import allreduce_ring
from course_lib.comm.communicator import Communicator
from course_lib.comm.launch import run
from course_lib.comm.simulated.network import Network

__all__ = ["TASK"]


class PredictBound(PredictTask):
    """Flops and bytes of a step, how long each takes, and the batch at which they are equal."""

    name = "predict_bound"
    title = "Predict what bounds a data-parallel step, then measure it."
    questions = ("workers", "chunk", "batch", "flops_per_us", "bytes_per_us")
    forbidden = ("course_lib.costs", "course_lib.lectures", "course_lib.planning")
    other_number = "write down {name} for 2 workers with one parameter each and one example"

    def tried(self) -> Sequence[tuple[int, ...]]:
        """Begin with round numbers, then more workers, and a batch for equal times."""
        return (
            (4, 250, 16, 3100, 125), (2, 100, 8, 1000, 100), (8, 60, 3, 700, 1250),
            (3, 40, 50, 9000, 70), (4, 250, 16, 2000, 125),
        )  # fmt: skip

    def _unforeseen(self, secret: int) -> Iterator[tuple[int, ...]]:
        rng = Case(1, "", seed=secret).rng(0, 0)
        for workers in (2, 5, 6):
            yield (workers, int(rng.integers(20, 200)), int(rng.integers(2, 40)),
                   int(rng.integers(500, 5000)), int(rng.integers(50, 900)))  # fmt: skip

    def measure(self, *numbers: int) -> dict[str, Any]:
        """Take a step in virtual time, and read flops, bytes and times off its trace."""
        workers, chunk, batch, flops_per_us, bytes_per_us = numbers
        n = workers * chunk
        flops = 6 * batch * n
        network = Network("a switch", 0.0, 1e6 * bytes_per_us, 1e6 * flops_per_us)

        def step(comm: Communicator) -> None:
            with comm.compute("gradient", flops=flops):
                grad = np.zeros(n, np.float32)
            allreduce_ring(comm, grad)

        trace = run(step, workers=workers, backend="simulated", network=network).trace
        assert trace is not None
        sent = trace.bytes_sent()[0]
        step_us = flops / flops_per_us + sent / bytes_per_us
        # The run's own number is the sum of many, each rounded: it would not be this to the bit.
        assert math.isclose(step_us, 1e6 * trace.end_s, rel_tol=1e-9), "the run takes that long"
        return {
            "flops": flops, "sent_bytes": sent, "step_us": step_us,
            "least_batch": -(-sent * flops_per_us // (6 * n * bytes_per_us)),
        }  # fmt: skip

    def alternatives(self, *numbers: int) -> Mapping[str, Sequence[Alternative]]:
        """Know the usual mistakes."""
        P, chunk, b, f, beta = numbers
        n, sent = P * chunk, 8 * (P - 1) * chunk
        flops = 6 * b * n
        exact = sent * f / (6 * n * beta)
        return {
            "flops": [
                ("all-three-products", "a step has three products: forward, and two backward",
                 2 * b * n),
                ("all-three-products", "the forward product belongs to it, too", 4 * b * n),
                ("multiply-and-add", "a multiplication and an addition: two flops", 3 * b * n),
                ("of-one-worker", "batch is each worker's: its flops are asked for", P * flops),
                ("whole-net", "each worker has the whole net: workers · chunk parameters",
                 6 * b * chunk),
            ],
            "sent_bytes": [
                ("both-halves", "a ring goes round twice: reduce-scatter, then all-gather",
                 sent / 2),
                ("four-bytes", "a parameter of 32 bits has four bytes", sent / 4),
                ("four-bytes", "32 bits are four bytes, not eight", 2 * sent),
                ("chunks-not-vectors", "in each step of the ring a worker sends one chunk, not all",
                 8 * (P - 1) * n),
                ("one-less", "the ring has P - 1 steps in each half", 8 * n),
            ],
            "step_us": [
                ("one-after-the-other", "first the gradient, then the exchange: add both times",
                 max(flops / f, sent / beta)),
                ("one-after-the-other", "the exchange takes its time, too", flops / f),
                ("one-after-the-other", "the computing takes its time, too", sent / beta),
                ("both-ways-at-once", "a NIC sends and receives at once: what it sends counts",
                 flops / f + 2 * sent / beta),
            ],
            "least_batch": [
                ("rounded-up", "a smaller batch than that would not do: round up", int(exact)),
                ("rounded-up", "examples are whole: round up", exact),
                ("as-long", "as long is long enough: where both times are equal, no more examples "
                 "are needed", int(exact) + 1),
                ("per-example", "how many examples, not how many flops", exact * 6 * n),
                ("other-way", "the ratio is upside down", 1 / exact),
                ("three-products", "an example has six flops for each parameter", 3 * exact),
            ],
        }  # fmt: skip


TASK = PredictBound()
