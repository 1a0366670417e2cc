"""Steps of models that are divided: ours against the same over gloo, and against torch's FSDP.

``python -m benchmarks --only split`` measures it. The layers of an MLP are split over all workers,
in pairs; and of another, every worker keeps a shard of each layer (ZeRO, stage 3). One thread a
worker, and the losses have to be the same.
"""

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from benchmarks.lesson import BATCH_SIZE, SIZES, check_losses
from benchmarks.plan import Plan, Progress
from benchmarks.samples import Key, Samples
from benchmarks.torch_split import SPLIT_SIZES, calm_lesson, train_with_torch
from benchmarks.training import WARM_UP_STEPS, Steps, ends, seconds
from course_lib import run
from course_lib.comm.communicator import Communicator
from course_lib.models.deep_mlp import deep_mlp
from course_lib.schemes import sharded_parameters, split_weights
from course_lib.training import Training

__all__ = ["WAYS", "Way", "measure_split", "split_key"]


class Way(NamedTuple):
    """A way to divide an MLP: our scheme, its sizes, in words, and the peer."""

    scheme: Callable[..., Training]
    sizes: tuple[int, ...]
    how: str
    peer: str

    @property
    def ours(self) -> str:
        return self.scheme.__name__

    @property
    def over_gloo(self) -> str:
        """The same text of ours, with gloo below: what differs is how arrays are exchanged."""
        return f"{self.ours}, over gloo"


WAYS = {
    "split": Way(split_weights, SPLIT_SIZES, "columns, then rows", "torch + gloo"),
    "fsdp": Way(sharded_parameters, SIZES, "every layer sharded", "torch FSDP + gloo"),
}


def split_key(way: Way, processes: int, engine: str) -> Key:
    mlp = f"MLP {'-'.join(map(str, way.sizes))}"
    return Key(f"step of {mlp}, {way.how}, {BATCH_SIZE} examples a worker", processes, engine)


def measure_split(plan: Plan, progress: Progress, samples: Samples) -> None:
    """Measure ours, ours over gloo, and torch's in turns."""
    n_engines = 3
    progress.expect(plan.rounds * len(plan.processes) * len(WAYS) * n_engines)
    n_steps = WARM_UP_STEPS + plan.training_steps
    for _, processes, name in product(range(plan.rounds), plan.processes, WAYS):
        way = WAYS[name]
        engines = {
            way.ours: partial(_with_ours, "processes"),
            way.over_gloo: partial(_with_ours, "torch"),
            way.peer: _with_torch,
        }
        expected: list[float] = []
        for engine, train in engines.items():
            progress.step(f"split: {engine}, {processes} processes")
            found = train(name, processes, n_steps)
            expected = expected or found.losses
            check_losses(engine, found.losses, expected)
            samples.add(split_key(way, processes, engine), found.seconds)


def _with_ours(backend: str, name: str, processes: int, n_steps: int) -> Steps:
    result = run(_train, name, n_steps, workers=processes, backend=backend, time_limit_s=600)
    losses = np.sum([training.losses for training in result.values], axis=0)
    return Steps(losses.tolist(), seconds(ends(result.trace, processes)))


def _train(comm: Communicator, name: str, n_steps: int) -> Training:
    model = deep_mlp(*WAYS[name].sizes, dtype="float32")
    return WAYS[name].scheme(comm, model, *calm_lesson(comm.size, n_steps))


def _with_torch(name: str, processes: int, n_steps: int) -> Steps:
    ranks: list[dict[str, Any]] = train_with_torch(name, processes, n_steps)
    # Split layers: every rank has the whole loss. Sharded ones: each has its examples' share.
    told = ranks[:1] if name == "split" else ranks
    losses = np.sum([rank["losses"] for rank in told], axis=0)
    return Steps(losses.tolist(), seconds([rank["ends_s"] for rank in ranks]))
