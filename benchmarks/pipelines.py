"""A step of a pipeline: ours against torch.distributed.pipelining over gloo, by the same schedule.

``python -m benchmarks --only pipelines`` measures it. Both train the model of ``PIPELINE_SIZES``
with one thread a worker, and their losses have to be the same.
"""

import numpy as np

from benchmarks.lesson import check_losses
from benchmarks.peers import run_peer
from benchmarks.plan import Plan, Progress
from benchmarks.samples import Key, Samples
from benchmarks.torch_pipeline import (
    MICROBATCHES,
    PIPELINE_BATCH,
    PIPELINE_SIZES,
    commands,
    pipeline_lesson,
)
from benchmarks.training import WARM_UP_STEPS, Steps, ends, seconds
from course_lib import run
from course_lib.comm.communicator import Communicator
from course_lib.models.deep_mlp import deep_mlp
from course_lib.pipelines import one_f_one_b
from course_lib.schemes import pipeline
from course_lib.training import Training

__all__ = ["OURS_PIPELINED", "TORCH_PIPELINED", "measure_pipelines", "pipeline_key"]

OURS_PIPELINED, TORCH_PIPELINED = "pipeline", "torch.distributed.pipelining + gloo"


def pipeline_key(processes: int, engine: str) -> Key:
    width, layers = PIPELINE_SIZES[1], len(PIPELINE_SIZES) - 1
    what = (
        f"pipeline step, 1F1B, {layers} layers of {width}, {PIPELINE_BATCH} examples in "
        f"{MICROBATCHES} micro-batches"
    )
    return Key(what, processes, engine)


def measure_pipelines(plan: Plan, progress: Progress, samples: Samples) -> None:
    """Measure both in turns."""
    engines = {OURS_PIPELINED: _with_ours, TORCH_PIPELINED: _with_torch}
    progress.expect(plan.rounds * len(plan.processes) * len(engines))
    n_steps = WARM_UP_STEPS + plan.training_steps
    for _ in range(plan.rounds):
        for processes in plan.processes:
            expected: list[float] = []
            for name, train in engines.items():
                progress.step(f"pipelines: {name}, {processes} processes")
                found = train(processes, n_steps)
                expected = expected or found.losses
                check_losses(name, found.losses, expected)
                samples.add(pipeline_key(processes, name), found.seconds)


def _with_ours(processes: int, n_steps: int) -> Steps:
    result = run(_train, n_steps, workers=processes, time_limit_s=600)
    losses = np.sum([training.losses for training in result.values], axis=0)
    return Steps(losses.tolist(), seconds(ends(result.trace, processes)))


def _train(comm: Communicator, n_steps: int) -> Training:
    X, y, plan = pipeline_lesson(n_steps)
    model = deep_mlp(*PIPELINE_SIZES, dtype="float32")
    return pipeline(comm, model, X, y, plan, one_f_one_b, MICROBATCHES)


def _with_torch(processes: int, n_steps: int) -> Steps:
    ranks = run_peer(lambda folder: commands(folder, processes), {"n_steps": n_steps}, processes)
    ends_s = [rank["ends_s"] for rank in ranks]
    return Steps(ranks[-1]["losses"], seconds(ends_s))
