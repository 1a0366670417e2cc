"""Start MPI in this program, or say why it cannot be."""

import faulthandler
import importlib
import importlib.util
import os
from functools import cache
from typing import TYPE_CHECKING

from course_lib.comm.errors import LaunchError

if TYPE_CHECKING:
    from course_lib.comm.mpi_backend.mpiexec import Mpiexec

__all__ = ["mpi_size", "started_by_mpiexec"]

_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")
_RANKS = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")
_HOW = "start the script by mpiexec -n 4 python script.py"
_OTHERS_START_S = 60


def mpi_size() -> int:
    """Return how many ranks mpiexec has started, of which this program is one."""
    size: int = started_by_mpiexec().size
    return size


@cache
def started_by_mpiexec() -> "Mpiexec":
    """Start MPI, and return what mpiexec has started.

    Returns
    -------
    Mpiexec
        The ranks.

    Raises
    ------
    LaunchError
        If mpi4py is missing, or mpiexec has not started this program, or is of another MPI.
    """
    if importlib.util.find_spec("mpi4py") is None:
        raise LaunchError(
            'backend="mpi" needs mpi4py and an MPI, which are not installed; to install both: '
            f"python -m pip install mpi4py mpich; then {_HOW}"
        )
    if not any(name in os.environ for name in _RANKS):
        raise LaunchError(
            'backend="mpi" joins the ranks that mpiexec has started, and it has not started this '
            f'program: {_HOW}; backend="processes" starts ranks by itself'
        )
    importlib.import_module("course_lib.comm.torch_backend.torchrun")  # which takes its time
    # MPI waits for all ranks to start it, and for ever for one that has ended before; nothing of
    # Python runs meanwhile, only this watch.
    faulthandler.dump_traceback_later(_OTHERS_START_S, exit=True)
    try:
        from mpi4py import MPI  # noqa: F401
    finally:
        faulthandler.cancel_dump_traceback_later()
    from course_lib.comm.mpi_backend.mpiexec import Mpiexec

    here = Mpiexec()
    told = [os.environ[name] for name in _SIZES if name in os.environ]
    if told and str(here.size) not in told:
        raise LaunchError(
            f"mpiexec has started {told[0]} ranks, and mpi4py sees {here.size}: they belong to "
            "different MPIs; call the mpiexec of the MPI that mpi4py was built for, with the mpich "
            "wheel the one beside python"
        )
    return here
