"""The peer of our pipeline: torch.distributed.pipelining's ``Schedule1F1B`` over gloo.

``python -m benchmarks.torch_pipeline FOLDER RANK SIZE`` is one rank of it. It takes the same steps
as ours, with torch's own layers.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lesson import Lesson
from course_lib.training import Plan

__all__ = ["MICROBATCHES", "PIPELINE_BATCH", "PIPELINE_SIZES", "commands", "pipeline_lesson"]

PIPELINE_SIZES = (512,) * 8 + (10,)
PIPELINE_BATCH, MICROBATCHES = 256, 8


def pipeline_lesson(n_steps: int) -> Lesson:
    """Make examples for so many steps: classes that can be told apart."""
    rng = np.random.default_rng(0)
    n_examples = PIPELINE_BATCH * n_steps
    y = rng.integers(0, PIPELINE_SIZES[-1], n_examples)
    X = rng.standard_normal((n_examples, PIPELINE_SIZES[0]), dtype=np.float32)
    X[np.arange(n_examples), y] += 3
    return Lesson(X, y, Plan(learning_rate=0.005, batch_size=PIPELINE_BATCH))


def commands(folder: Path, size: int) -> list[list[str]]:
    """Return what to start, a command a rank."""
    module = [sys.executable, "-m", "benchmarks.torch_pipeline", str(folder)]
    return [[*module, str(rank), str(size)] for rank in range(size)]


def train(folder: Path, rank: int, size: int, n_steps: int) -> dict[str, list[float]]:
    """Take the lesson's steps as one rank."""
    import torch
    import torch.distributed as dist
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B

    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=(folder / "store").as_uri(), rank=rank, world_size=size
    )
    X, y, plan = pipeline_lesson(n_steps)
    X, y = torch.from_numpy(X), torch.from_numpy(y)
    module = _stage(rank, size, plan.seed)
    stage = PipelineStage(module, rank, size, torch.device("cpu"))
    schedule = Schedule1F1B(stage, MICROBATCHES, loss_fn=torch.nn.functional.cross_entropy)
    optimizer = torch.optim.SGD(module.parameters(), lr=plan.learning_rate)

    losses, ends_s = [], []
    for examples, _ in plan.shares(len(y)):
        optimizer.zero_grad()
        of_step: list[Any] = []
        if rank == 0:
            schedule.step(X[examples])
        elif rank == size - 1:
            schedule.step(target=y[examples], losses=of_step)
        else:
            schedule.step()
        optimizer.step()
        losses.append(float(np.mean([loss.item() for loss in of_step])) if of_step else 0.0)
        ends_s.append(time.perf_counter())
    dist.barrier()
    dist.destroy_process_group()
    return {"losses": losses, "ends_s": ends_s}


def _stage(rank: int, size: int, seed: int) -> Any:
    """Make a rank's layers of the model with torch's own, and the same first parameters."""
    import torch
    from torch import nn

    from course_lib.models.deep_mlp import deep_mlp
    from course_lib.training.stages import cut_into_stages

    model = deep_mlp(*PIPELINE_SIZES, dtype="float32")
    layers: list[nn.Module] = []
    for number in cut_into_stages(model, size)[rank]:
        part: Any = model.parts[number]
        linear = nn.Linear(part.n_in, part.n_out)
        nn.utils.vector_to_parameters(
            torch.from_numpy(model.initial_of(number, seed)), linear.parameters()
        )
        layers += [linear, nn.ReLU()] if part.bends else [linear]
    return nn.Sequential(*layers)


def main(folder: Path, rank: int, size: int) -> None:
    task = json.loads((folder / "task.json").read_text())
    found = train(folder, rank, size, **task)
    (folder / f"rank{rank}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
