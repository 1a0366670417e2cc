"""A data-parallel training step: ours against torch's, and against workers that share nothing.

``python -m benchmarks --only training`` measures all of it. Every engine trains the model of
``lesson`` with one thread a worker, and its losses have to be those of ours.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.ddp import train_with_ddp
from benchmarks.lesson import SIZES, check_losses, lesson
from benchmarks.plan import Plan, Progress
from benchmarks.samples import Key, Samples
from course_lib import run
from course_lib.comm.communicator import Communicator
from course_lib.models.mlp import mlp
from course_lib.schemes import data_parallel, layerwise
from course_lib.trace.trace import Trace
from course_lib.training import Training

__all__ = [
    "ALONE",
    "DDP",
    "DDP_IN_BUCKETS",
    "OURS",
    "WARM_UP_STEPS",
    "Steps",
    "ends",
    "measure_training",
    "seconds",
    "step_key",
]

OURS, ALONE = "data_parallel", "alone, one worker for each process"
DDP, DDP_IN_BUCKETS = "torch DDP + gloo", "torch DDP + gloo, gradients in buckets"
SCHEMES: dict[str, Callable[..., Training]] = {OURS: data_parallel, "layerwise": layerwise}
WARM_UP_STEPS = 3


class Steps(NamedTuple):
    """What an engine did: the losses of all steps, and the seconds of those that count."""

    losses: list[float]
    seconds: list[float]


def step_key(processes: int, engine: str) -> Key:
    return Key(f"training step, MLP {'-'.join(map(str, SIZES))}", processes, engine)


def measure_training(plan: Plan, progress: Progress, samples: Samples) -> None:
    """Measure ours, torch's, and workers that do not talk, in turns."""
    programs: dict[str, Callable[[int, int], dict[str, Steps]]] = {
        **{name: partial(_with_ours, name) for name in SCHEMES},
        DDP: _with_ddp,
        ALONE: _alone,
    }
    progress.expect(plan.rounds * len(plan.processes) * len(programs))
    n_steps = WARM_UP_STEPS + plan.training_steps
    for _ in range(plan.rounds):
        for processes in plan.processes:
            expected: list[float] = []
            for program, train in programs.items():
                progress.step(f"training: {program}, {processes} processes")
                for name, found in train(processes, n_steps).items():
                    if name != ALONE:
                        expected = expected or found.losses
                        check_losses(name, found.losses, expected)
                    samples.add(step_key(processes, name), found.seconds)


def train_with_ours(scheme: str, processes: int, n_steps: int) -> Steps:
    """Train with a scheme of ours; the trace says when its steps were over."""
    result = run(_train, scheme, n_steps, workers=processes, time_limit_s=600)
    losses = np.sum([training.losses for training in result.values], axis=0)
    return Steps(losses.tolist(), seconds(ends(result.trace, processes)))


def train_alone(processes: int, n_steps: int) -> Steps:
    """Let each process train a model of its own: what the cores give where nobody talks.

    A step's seconds are the mean over the processes: none of them waits for the slowest.
    """
    result = run(_train_alone, n_steps, workers=processes, time_limit_s=600)
    each = [seconds([ends_s]) for ends_s in ends(result.trace, processes)]
    return Steps(result.values[0].losses, np.mean(each, axis=0).tolist())


def _with_ours(name: str, processes: int, n_steps: int) -> dict[str, Steps]:
    return {name: train_with_ours(name, processes, n_steps)}


def _alone(processes: int, n_steps: int) -> dict[str, Steps]:
    return {ALONE: train_alone(processes, n_steps)}


def _with_ddp(processes: int, n_steps: int) -> dict[str, Steps]:
    """Train with torch's in both ways, in one start of its processes: it takes them seconds."""
    ranks = train_with_ddp(processes, n_steps)
    found = {}
    for name, way in ((DDP, "plain"), (DDP_IN_BUCKETS, "in_buckets")):
        losses = np.sum([rank[way]["losses"] for rank in ranks], axis=0)
        found[name] = Steps(losses.tolist(), seconds([rank[way]["ends_s"] for rank in ranks]))
    return found


def _train(comm: Communicator, scheme: str, n_steps: int) -> Training:
    X, y, plan = lesson(comm.size, n_steps)
    return SCHEMES[scheme](comm, mlp(*SIZES, dtype="float32"), X, y, plan)


def _train_alone(comm: Communicator, n_steps: int) -> Training:
    group: Any = comm.split(color=comm.rank)
    comm.barrier()
    return _train(group, OURS, n_steps)


def ends(trace: Trace, processes: int) -> list[list[float]]:
    """Return, for each rank, when its steps ended."""
    return [
        [c.end_s for c in trace.computes if (c.rank, c.label) == (rank, "update")]
        for rank in range(processes)
    ]


def seconds(ends_s: list[list[float]], n_warm_up: int = WARM_UP_STEPS) -> list[float]:
    """Return the seconds from when all ranks had ended a step to when all had ended the next.

    So they add up to what the steps took together. Those that warm up are left out.
    """
    all_ended_s = np.max(ends_s, axis=0)
    return np.diff(all_ended_s)[n_warm_up - 1 :].tolist()  # between n steps there are n - 1
