"""The bytes on the busiest NIC, for every place that a server can have."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from course_lib.checks.prediction import Alternative, PredictTask
from course_lib.models.stand_in import StandIn


class PredictNic(PredictTask):
    """In and out together, in one step, with float64 parameters."""

    name = "predict_nic"
    title = "Predict the bytes on a server's NIC, wherever the server stands."
    units: ClassVar[Mapping[str, str]] = {
        "one_server": "bytes",
        "on_a_worker": "bytes",
        "one_of_the_servers": "bytes",
        "a_shard_on_each": "bytes",
    }
    questions = ("n_parameters", "n_workers", "n_servers")
    other_number = "draw one step of 3 workers, and count the arrows at the server: {name}"

    def tried(self) -> Sequence[tuple[int, ...]]:
        """Begin with five workers and three shards; in the last, 1/49 is no float."""
        return (1200, 5, 3), (1000, 10, 10), (24, 3, 1), (70, 7, 5), (10, 1, 1), (49, 1, 49)

    def _unforeseen(self, secret: int) -> Iterator[tuple[int, ...]]:
        rng = np.random.default_rng([secret, 4])
        for _ in range(3):
            n_workers, n_servers = (int(number) for number in rng.integers(2, 9, size=2))
            yield n_workers * n_servers * int(rng.integers(1, 50)), n_workers, n_servers

    def measure(self, *numbers: int) -> dict[str, Any]:
        """Train a model on paper, in four ways."""
        from course_lib.measure.training_step import OneStep, one_step
        from course_lib.schemes import (
            parameter_server,
            parameter_server_on_worker,
            sharded_data_parallel,
            sharded_parameter_server,
        )

        n_parameters, workers, servers = numbers
        model = StandIn.of({"all": n_parameters}, flops_per_example=1.0)

        def nic(step: OneStep) -> int:
            return round(step.into[0] + step.out[0])

        return {
            "one_server": nic(one_step(parameter_server, model, workers=workers)),
            "on_a_worker": nic(one_step(parameter_server_on_worker, model, workers=workers)),
            "one_of_the_servers": nic(
                one_step(sharded_parameter_server, model, workers=workers, servers=servers)
            ),
            "a_shard_on_each": nic(one_step(sharded_data_parallel, model, workers=workers)),
        }

    def alternatives(self, *numbers: int) -> Mapping[str, Sequence[Alternative]]:
        """Know the usual mistakes."""
        n_parameters, workers, servers = numbers
        n, others = 8 * n_parameters, workers - 1
        width = ("counts-numbers", "a float64 number has 8 bytes")
        bits = ("bits", "these are bits: a float64 number has 8 bytes")
        one_way = (
            "one-way",
            "half of it: do gradients come in and parameters go out, both, and has each "
            "number 8 bytes?",
        )
        return {
            "one_server": [
                (*bits, 16 * workers * n), (*width, 2 * workers * n_parameters),
                (*one_way, workers * n),
                ("counts-itself", "all the workers are on other ranks: P of them, not P - 1",
                 2 * others * n),
                ("one-vector", "every worker has a gradient of its own: the NIC carries P of them",
                 2 * n),
                ("last-fetch", "the fetch after the last step is no part of a step",
                 (2 * workers + 1) * n),
            ],
            "on_a_worker": [
                (*width, 2 * others * n_parameters), (*one_way, others * n),
                ("counts-itself", "a rank sends nothing to itself: P - 1 others", 2 * workers * n),
            ],
            "one_of_the_servers": [
                (*width, 2 * workers * n_parameters // servers),
                (*one_way, workers * n / servers),
                ("cut-off", "one byte less: int() of a float cuts off; multiply first, then divide "
                 "with //", 2 * workers * n // servers - 1),
                ("not-shared", "a server has one of n_servers shards only", 2 * workers * n),
                ("divides-by-workers", "each server has one of n_servers shards, not of P", 2 * n),
                ("one-worker", "one shard from each of the workers", 2 * n / servers),
            ],
            "a_shard_on_each": [
                (*width, 4 * others * n_parameters // workers),
                ("one-role", "each rank is a server to the others and their worker as well: it "
                 "fetches and pushes, too", 2 * others * n / workers),
                ("not-shared", "there are as many shards as workers: each has n / P bytes",
                 4 * others * n),
                ("counts-itself", "a rank sends nothing to itself: P - 1 others", 4 * n),
            ],
        }  # fmt: skip


TASK = PredictNic()
