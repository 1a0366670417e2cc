"""The peer of our training step: torch's ``DistributedDataParallel`` over gloo.

``python -m benchmarks.ddp FOLDER RANK SIZE`` is one rank of it. It takes the same steps as ours,
written as PyTorch's own tutorial does.
"""

import json
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from benchmarks.lesson import SIZES, lesson
from benchmarks.peers import run_peer

__all__ = ["network_of", "train_with_ddp"]


def train_with_ddp(workers: int, n_steps: int) -> list[dict[str, Any]]:
    """Start the processes, let them train in both ways, end them.

    Returns each rank's losses and its steps' ends by the way: ``plain``, and ``in_buckets``,
    where gradients are views of what is exchanged, which saves a copy.
    """

    def commands(folder: Path) -> list[list[str]]:
        module = [sys.executable, "-m", "benchmarks.ddp", str(folder)]
        return [[*module, str(rank), str(workers)] for rank in range(workers)]

    return run_peer(commands, {"n_steps": n_steps}, workers)


def train(rank: int, size: int, n_steps: int, in_buckets: bool) -> dict[str, list[float]]:
    """Take the lesson's steps as one rank of the group."""
    import torch
    from torch.nn.parallel import DistributedDataParallel

    from course_lib.models.mlp import mlp

    X, y, plan = lesson(size, n_steps)
    X, y = torch.from_numpy(X), torch.from_numpy(y)
    w = mlp(*SIZES, dtype="float32").initial(plan.seed)
    model = DistributedDataParallel(network_of(SIZES, w), gradient_as_bucket_view=in_buckets)
    optimizer = torch.optim.SGD(model.parameters(), lr=plan.learning_rate)

    losses, ends_s = [], []
    for examples, weight in plan.shares(len(y), rank, size):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(X[examples]), y[examples])
        loss.backward()
        optimizer.step()
        losses.append(weight * loss.item())
        ends_s.append(time.perf_counter())
    return {"losses": losses, "ends_s": ends_s}


def network_of(sizes: Sequence[int], w: NDArray[Any]) -> Any:
    """Make an MLP with torch's own layers, from the parameters of ours."""
    import torch
    from torch import nn

    layers: list[nn.Module] = []
    for n_in, n_out in pairwise(sizes):
        layers += [nn.Linear(n_in, n_out), nn.ReLU()]
    given = torch.from_numpy(w)
    network = nn.Sequential(*layers[:-1]).to(given.dtype)
    nn.utils.vector_to_parameters(given, network.parameters())
    return network


def main(folder: Path, rank: int, size: int) -> None:
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    n_steps = json.loads((folder / "task.json").read_text())["n_steps"]
    store = (folder / "store").as_uri()
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=size)
    found = {}
    for way, in_buckets in (("plain", False), ("in_buckets", True)):
        dist.barrier()
        found[way] = train(rank, size, n_steps, in_buckets)
    dist.barrier()
    dist.destroy_process_group()
    (folder / f"rank{rank}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
