"""What a training run sends, predicted and measured."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from course_lib.checks.prediction import Alternative, PredictTask
from course_lib.comm.launch import run


class PredictMapReduce(PredictTask):
    """Messages and bytes of ``map_reduce``."""

    name = "predict_map_reduce"
    title = "Predict the messages and bytes of a training run, then measure them."
    units: ClassVar[Mapping[str, str]] = {
        "messages": "messages",
        "n_bytes": "bytes",
        "bytes_into_rank_0": "bytes",
        "bytes_out_of_rank_1": "bytes",
    }
    questions = ("n_workers", "n_features", "n_steps")

    def tried(self) -> Sequence[tuple[int, ...]]:
        """Begin with the lecture's run."""
        return (4, 10, 5), (7, 3, 2), (2, 1, 1), (1, 4, 3), (16, 20, 0), (5, 30, 6)

    def measure(self, *numbers: int) -> dict[str, Any]:
        """Train on a small table: the number of rows does not matter."""
        from course_lib.schemes import map_reduce
        from course_lib.training import Plan

        n_workers, n_features, n_steps = numbers
        X = np.ones((n_workers, n_features))
        trace = run(
            map_reduce,
            X,
            X[:, 0],
            Plan(0.01, epochs=n_steps),
            workers=n_workers,
            backend="simulated",
        ).trace
        return {
            "messages": trace.n_messages,
            "n_bytes": trace.n_bytes,
            "bytes_into_rank_0": trace.bytes_received()[0],
            "bytes_out_of_rank_1": trace.bytes_sent()[1] if n_workers > 1 else 0,
        }

    def alternatives(self, *numbers: int) -> Mapping[str, Sequence[Alternative]]:
        """Know the usual mistakes."""
        workers, features, steps = numbers
        others, n = workers - 1, 8 * (features + 1)
        intercept = ("forgot-intercept", "d features and the intercept: d + 1 parameters")
        self_send = ("counts-rank-0", "rank 0 sends nothing to itself: P - 1 others, not P")
        width = ("counts-numbers", "a float64 number has 8 bytes")
        one_step = ("one-step", "this is one step: multiply by the number of steps")
        start = ("start-model", "the first model is zeros on every rank: nobody sends it")
        whole = ("shared-out", "each message carries the whole model, or a gradient as long")
        one_way = ("one-way", "partial sums come in, and models go out: both are messages")
        return {
            "messages": [
                (*one_step, 2 * others), (*one_way, others * steps),
                (*self_send, 2 * workers * steps), (*self_send, workers * steps),
                (*start, 2 * others * steps + others),
            ],
            "n_bytes": [
                (*width, 2 * others * (features + 1) * steps), (*one_step, 2 * others * n),
                (*one_way, others * n * steps), (*self_send, 2 * workers * n * steps),
                (*intercept, 2 * others * 8 * features * steps),
                (*start, (2 * others * steps + others) * n),
                (*whole, 2 * others * n * steps / workers),
            ],
            "bytes_into_rank_0": [
                (*width, others * (features + 1) * steps), (*one_step, others * n),
                (*self_send, workers * n * steps), (*intercept, others * 8 * features * steps),
                ("both-directions", "only what goes into rank 0: its models go out",
                 2 * others * n * steps),
            ],
            "bytes_out_of_rank_1": [
                (*width, (features + 1) * steps), (*one_step, n),
                (*intercept, 8 * features * steps),
                ("all-workers", "this is what all the workers send to rank 0; rank 1 is one "
                 "of them",
                 others * n * steps),
                ("alone", "with one worker there is no rank 1: 0 bytes", n * steps),
            ],
        }  # fmt: skip


TASK = PredictMapReduce()
