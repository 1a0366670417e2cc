"""What ``mpiexec`` has started: who this program is among its ranks, and how they meet."""

from typing import ClassVar

import numpy as np
from mpi4py import MPI

from course_lib.comm.errors import LaunchTimeout
from course_lib.comm.mpi_backend.ending import leave_together
from course_lib.comm.mpi_backend.wires import TURN, MPIWires, wait_for
from course_lib.comm.torch_backend.groups import own_device

__all__ = ["Mpiexec"]

_LEAST_S = 10.0
_NAME_BYTES = 256


class Mpiexec:
    """The ranks that mpiexec has started, of which this program is one.

    Attributes
    ----------
    rank, size : int
        Which, of how many.
    host : str
        Where rank 0's witness listens: if all ranks are on one computer, nowhere else.
    """

    backend: ClassVar[str] = "mpi"

    def __init__(self) -> None:
        self.rank, self.size = MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size()
        self.host = ""
        self._device = "cpu"
        self._base: MPI.Comm | None = None
        self._comm: MPI.Comm | None = None
        self._wires: MPIWires | None = None
        self._is_torn = False
        leave_together(self)

    def address(self) -> str:
        """Return the address under which other machines reach this one."""
        return self.host

    def meet(self, limit_s: float) -> None:
        """Meet the other ranks for the first time, and hear on which computers they are.

        Parameters
        ----------
        limit_s : float
            How long to wait for them, at least ten seconds.
        """
        if self._base is not None:
            return
        with TURN:
            base, request = MPI.COMM_WORLD.Idup()
        self._together(request, limit_s)
        name = np.frombuffer(MPI.Get_processor_name().encode().ljust(_NAME_BYTES, b"\0"), np.uint8)
        names = np.empty((self.size, name.size), np.uint8)
        with TURN:
            request = base.Iallgather(name, names)
        self._together(request, limit_s)
        is_here = (names == name).all(axis=1)
        self.host = "127.0.0.1" if is_here.all() else names[0].tobytes().rstrip(b"\0").decode()
        self._device = own_device(int(is_here[: self.rank].sum()))
        self._base = base

    def join(self, limit_s: float) -> MPIWires:
        """Meet the other ranks in a run of theirs.

        Parameters
        ----------
        limit_s : float
            How long to wait for them, at least ten seconds.

        Returns
        -------
        MPIWires
            The rank's ends of all connections.
        """
        assert self._base is not None, "they have met"
        if self._wires is not None and not self._wires.is_clean:  # messages may be under way
            self._wires.abort()
            self._comm = None
        is_clean = np.array([self._comm is not None])
        with TURN:
            request = self._base.Iallreduce(MPI.IN_PLACE, is_clean, MPI.LAND)
        self._together(request, limit_s)
        if self._comm is None or not is_clean[0]:
            with TURN:
                self._comm, request = self._base.Idup()
            self._together(request, limit_s)
        self._wires = MPIWires(self._comm, self._device)
        return self._wires

    @property
    def has_failed(self) -> bool:
        """Whether the last run was left in the middle."""
        return self._is_torn or not (self._wires is None or self._wires.is_clean)

    def leave(self, limit_s: float) -> bool:
        """Close all connections, and wait for the other ranks to do that too.

        Parameters
        ----------
        limit_s : float
            For how long.

        Returns
        -------
        bool
            Whether all ranks are ready to leave MPI.
        """
        if self._wires is not None:
            self._wires.abort()
        with TURN:
            request = MPI.COMM_WORLD.Ibarrier()
        return wait_for(request, limit_s)

    def _together(self, request: MPI.Request, limit_s: float) -> None:
        limit_s = max(limit_s, _LEAST_S)
        if self._is_torn or not wait_for(request, limit_s):
            self._is_torn = True
            raise LaunchTimeout(
                f"rank {self.rank} has waited {limit_s:g} s until all {self.size} ranks call run, "
                "too; look for a rank that has stopped, or that calls run less often",
                rank=self.rank,
            )
