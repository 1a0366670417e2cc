"""The peer MPICH, by ``mpi4py``. It is optional: without it the rest is measured.

``mpiexec -n P python -m benchmarks.mpich FOLDER SIZE`` are its ranks.
"""

import importlib.util
import shutil
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

from benchmarks.exchange import Measured, Task, Vector
from benchmarks.peers import answer, measure_peer

__all__ = ["Mpich", "measure_mpich", "mpiexec", "why_missing"]

SCRIPTS = Path(sysconfig.get_path("scripts"))
_INSTALL = f"to install it: {sys.executable} -m pip install mpi4py mpich"


class Mpich:
    """A rank of MPICH."""

    name = "MPICH"

    def __init__(self) -> None:
        from mpi4py import MPI

        self._comm, self._in_place = MPI.COMM_WORLD, MPI.IN_PLACE
        self.rank, self.size = self._comm.rank, self._comm.size

    def barrier(self) -> None:
        self._comm.Barrier()

    def prepare(self, x: Vector, n_calls: int) -> Callable[[], list[Vector]]:
        places = [x.copy() for _ in range(n_calls)]

        def sum_up() -> list[Vector]:
            for place in places:
                self._comm.Allreduce(self._in_place, place)
            return places

        return sum_up

    def send(self, array: Vector, dst: int) -> None:
        self._comm.Send(array, dst)

    def receive(self, out: Vector, src: int) -> None:
        self._comm.Recv(out, src)


def mpiexec() -> str | None:
    """Return the program that starts MPI's ranks: the environment's, not one of another MPI."""
    return shutil.which("mpiexec", path=SCRIPTS)


def why_missing() -> str:
    """Return what is missing to measure MPICH and how to install it; "" if nothing is."""
    if importlib.util.find_spec("mpi4py") is None:
        return f"mpi4py is not installed; {_INSTALL}"
    if mpiexec() is None:
        return f"there is no mpiexec in {SCRIPTS}; {_INSTALL}"
    return ""


def measure_mpich(task: Task, processes: int) -> Measured:
    """Start the processes, let them measure, end them."""

    def commands(folder: Path) -> list[list[str]]:
        module = [sys.executable, "-m", "benchmarks.mpich", str(folder), str(processes)]
        return [[str(mpiexec()), "-n", str(processes), *module]]

    return measure_peer(commands, task, processes)


def main(folder: Path, size: int) -> None:
    engine = Mpich()
    if engine.size != size:
        raise RuntimeError(f"a group of {engine.size}, not {size}: mpiexec is of another MPI")
    answer(engine, folder)
    engine.barrier()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
