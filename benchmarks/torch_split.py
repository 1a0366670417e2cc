"""The peers of our divided models: a split MLP over gloo, written by hand, and torch's FSDP.

``python -m benchmarks.torch_split FOLDER RANK SIZE`` is one rank of either. It takes the same steps
as ours, with torch's own layers. The split MLP is what Megatron-LM writes: two functions of
autograd, of which one sums forward and the other back. FSDP is ``fully_shard``, which torch 2.13
also does over gloo, on processors.
"""

import json
import sys
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.lesson import SIZES, Lesson, lesson
from benchmarks.peers import run_peer

__all__ = ["SPLIT_SIZES", "calm_lesson", "train_with_torch"]

SPLIT_SIZES = SIZES[0], 2048, 512, 2048, SIZES[-1]
"""Two pairs: columns and rows, twice; a sum forward for each, and one back between them."""


def calm_lesson(workers: int, n_steps: int) -> Lesson:
    """Make the lesson with steps so short that four layers do not make rounding errors grow."""
    X, y, plan = lesson(workers, n_steps)
    return Lesson(X, y, replace(plan, learning_rate=0.002))


def train_with_torch(way: str, workers: int, n_steps: int) -> list[dict[str, Any]]:
    """Start the processes, let them train one way, "split" or "fsdp"; return what each found."""

    def commands(folder: Path) -> list[list[str]]:
        module = [sys.executable, "-m", "benchmarks.torch_split", str(folder)]
        return [[*module, str(rank), str(workers)] for rank in range(workers)]

    return run_peer(commands, {"way": way, "n_steps": n_steps}, workers)


def train(folder: Path, rank: int, size: int, way: str, n_steps: int) -> dict[str, list[float]]:
    """Take the lesson's steps as one rank."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=(folder / "store").as_uri(), rank=rank, world_size=size
    )
    X, y, plan = calm_lesson(size, n_steps)
    X, y = torch.from_numpy(X), torch.from_numpy(y)
    network = {"split": _split, "fsdp": _fully_sharded}[way](rank, size, plan.seed)
    optimizer = torch.optim.SGD(network.parameters(), lr=plan.learning_rate)

    losses, ends_s = [], []
    has_all = way == "split"  # every rank has the whole batch
    for examples, weight in plan.shares(len(y), *((0, 1) if has_all else (rank, size))):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(X[examples]), y[examples])
        loss.backward()
        optimizer.step()
        losses.append(weight * loss.item())
        ends_s.append(time.perf_counter())
    dist.barrier()
    dist.destroy_process_group()
    return {"losses": losses, "ends_s": ends_s}


def _split(rank: int, size: int, seed: int) -> Any:
    """Make this rank's part of the MLP: of each pair some units, and the weights on both sides."""
    import torch
    import torch.distributed as dist
    from torch import nn

    class SumBack(torch.autograd.Function):
        @staticmethod
        def forward(_: Any, x: Any) -> Any:
            return x.view_as(x)

        @staticmethod
        def backward(_: Any, dx_partial: Any) -> Any:
            dist.all_reduce(dx_partial)
            return dx_partial

    class SumForward(torch.autograd.Function):
        @staticmethod
        def forward(context: Any, y_partial: Any) -> Any:
            context.mark_dirty(y_partial)
            dist.all_reduce(y_partial)
            return y_partial

        @staticmethod
        def backward(_: Any, dy: Any) -> Any:
            return dy

    class Pair(nn.Module):
        def __init__(self, first: Any, second: Any) -> None:
            super().__init__()
            own = slice(rank * first.out_features // size, (rank + 1) * first.out_features // size)
            self.columns = nn.Parameter(first.weight[own].detach().clone())
            self.columns_bias = nn.Parameter(first.bias[own].detach().clone())
            self.rows = nn.Parameter(second.weight[:, own].detach().clone())
            self.bias = nn.Parameter(second.bias.detach().clone())

        def forward(self, x: Any) -> Any:
            hidden = torch.relu(nn.functional.linear(x, self.columns, self.columns_bias))
            return SumForward.apply(nn.functional.linear(hidden, self.rows)).add(self.bias)

    class Network(nn.Module):
        def __init__(self, layers: list[Any]) -> None:
            super().__init__()
            self.first, self.second = Pair(*layers[:2]), Pair(*layers[2:])

        def forward(self, x: Any) -> Any:
            return self.second(SumBack.apply(torch.relu(self.first(x))))

    return Network(_layers(SPLIT_SIZES, seed))


def _fully_sharded(rank: int, size: int, seed: int) -> Any:
    """Make the MLP of ``lesson`` and have FSDP shard each of its layers."""
    from torch import nn
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    del rank  # known to torch
    mesh = init_device_mesh("cpu", (size,))
    layers = _layers(SIZES, seed)
    modules: list[nn.Module] = []
    for layer in layers:
        modules += [fully_shard(layer, mesh=mesh), nn.ReLU()]
    return fully_shard(nn.Sequential(*modules[:-1]), mesh=mesh)


def _layers(sizes: tuple[int, ...], seed: int) -> list[Any]:
    """Make torch's own layers, with the first parameters of ours."""
    import torch
    from torch import nn

    from course_lib.models.deep_mlp import deep_mlp

    model = deep_mlp(*sizes, dtype="float32")
    layers = []
    for number, (n_in, n_out) in enumerate(pairwise(sizes)):
        layers.append(linear := nn.Linear(n_in, n_out))
        w = torch.from_numpy(model.initial_of(number, seed))
        nn.utils.vector_to_parameters(w, linear.parameters())
    return layers


def main(folder: Path, rank: int, size: int) -> None:
    task = json.loads((folder / "task.json").read_text())
    found = train(folder, rank, size, **task)
    (folder / f"rank{rank}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
