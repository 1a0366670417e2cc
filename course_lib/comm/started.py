"""What has started this program as one of many ranks, as its environment tells: no import needed.

Torchrun sets ``TORCHELASTIC_RUN_ID`` and more. The launchers of MPI have no name in common: MPICH's
``mpiexec``, and Slurm's ``srun`` with that protocol, set ``PMI_RANK`` and ``PMI_SIZE``; Open MPI's
set ``OMPI_COMM_WORLD_RANK`` and the like. A single rank of MPI may be a shell that somebody has on
a cluster, so one rank alone is not taken for one that was started to join others.
"""

import os
from typing import NamedTuple

__all__ = ["MPI_RANKS", "MPI_SIZES", "StartedBy", "number_in", "started_by", "torchrun_size"]

MPI_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")
"""Where launchers of MPI say how many ranks there are."""
MPI_RANKS = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")
"""Where they say which one a program is."""
_MPI_PLACES = ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK")


class StartedBy(NamedTuple):
    """A launcher, and which of its ranks this program is.

    Attributes
    ----------
    launcher : {"torchrun", "mpiexec"}
        What has started the ranks.
    backend : {"torch", "mpi"}
        By which they join, as ``run`` calls it.
    rank, size : int
        Which of them this program is, of how many.
    place : int
        Which of those of this computer.
    """

    launcher: str
    backend: str
    rank: int
    size: int
    place: int


def started_by() -> StartedBy | None:
    """Say what has started this program and others, to be ranks together; None if nothing has.

    Raises
    ------
    ValueError
        If the variables that torchrun sets are there in part, or make no sense.
    """
    if (size := torchrun_size()) is not None:
        rank, place = int(os.environ["RANK"]), number_in(("LOCAL_RANK",))
        return StartedBy("torchrun", "torch", rank, size, place or 0)
    which, n_ranks = number_in(MPI_RANKS), number_in(MPI_SIZES)
    if which is None or n_ranks is None or n_ranks < 2:
        return None
    at = number_in(_MPI_PLACES)
    return StartedBy("mpiexec", "mpi", which, n_ranks, which if at is None else at)


def torchrun_size() -> int | None:
    """Return how many ranks torchrun has started, of which this program is one; None if none.

    Raises
    ------
    ValueError
        If the variables that torchrun sets are there in part, or make no sense.
    """
    if "TORCHELASTIC_RUN_ID" not in os.environ:  # RANK alone is anybody's
        return None
    size, rank = os.environ.get("WORLD_SIZE", ""), os.environ.get("RANK", "")
    if size.isdecimal() and rank.isdecimal() and int(rank) < int(size):
        return int(size)
    raise ValueError(
        f"TORCHELASTIC_RUN_ID is set, as by torchrun, but WORLD_SIZE={size!r} and RANK={rank!r} "
        "name none of its ranks: start this program with torchrun, or unset them"
    )


def number_in(names: tuple[str, ...]) -> int | None:
    """Return the number that the first of these variables holds; None if none does."""
    told = (os.environ.get(name, "") for name in names)
    return next((int(text) for text in told if text.isdecimal()), None)
