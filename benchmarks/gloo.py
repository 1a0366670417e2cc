"""The peer gloo: what ``torch.distributed`` uses on processors.

``python -m benchmarks.gloo FOLDER RANK SIZE`` is one rank of it.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.exchange import Measured, Task, Vector
from benchmarks.peers import answer, measure_peer

__all__ = ["Gloo", "measure_gloo"]


class Gloo:
    """A rank of gloo, with one thread for computing, like a rank of ours."""

    name = "gloo"

    def __init__(self, store: Path, rank: int, size: int) -> None:
        import torch
        import torch.distributed as dist

        torch.set_num_threads(1)
        self.rank, self.size = rank, size
        self._torch, self._dist = torch, dist
        dist.init_process_group("gloo", init_method=store.as_uri(), rank=rank, world_size=size)

    def barrier(self) -> None:
        self._dist.barrier()

    def prepare(self, x: Vector, n_calls: int) -> Callable[[], list[Vector]]:
        places = [self._torch.from_numpy(x.copy()) for _ in range(n_calls)]

        def sum_up() -> list[Vector]:
            for place in places:
                self._dist.all_reduce(place)
            return [place.numpy() for place in places]

        return sum_up

    def send(self, array: Vector, dst: int) -> None:
        self._dist.send(self._torch.from_numpy(array), dst)

    def receive(self, out: Vector, src: int) -> None:
        self._dist.recv(self._torch.from_numpy(out), src)


def measure_gloo(task: Task, processes: int) -> Measured:
    """Start the processes, let them measure, end them."""

    def commands(folder: Path) -> list[list[str]]:
        module = [sys.executable, "-m", "benchmarks.gloo", str(folder)]
        return [[*module, str(rank), str(processes)] for rank in range(processes)]

    return measure_peer(commands, task, processes)


def main(folder: Path, rank: int, size: int) -> None:
    engine = Gloo(folder / "store", rank, size)
    answer(engine, folder)
    engine.barrier()
    engine._dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
