"""Start MPI in this program, or say why it cannot be."""

import faulthandler
import importlib
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from course_lib.comm.errors import LaunchError
from course_lib.comm.started import MPI_RANKS, MPI_SIZES, number_in

if TYPE_CHECKING:
    from course_lib.comm.mpi_backend.mpiexec import Mpiexec

__all__ = ["mpi_size", "started_by_mpiexec", "why_no_mpi"]

_HOW = "start the script by mpiexec -n 4 python script.py"
_OTHERS_START_S = 180


def mpi_size() -> int:
    """Return how many ranks mpiexec has started, of which this program is one.

    Its environment tells, as a rule; so MPI is started later, when nothing is left to be refused.

    Raises
    ------
    LaunchError
        If mpi4py is missing, or mpiexec has not started this program.
    """
    if told := why_no_mpi('backend="mpi"', _HOW):
        raise LaunchError(told)
    told_size = number_in(MPI_SIZES)
    return started_by_mpiexec().size if told_size is None else told_size


def why_no_mpi(called: str, how: str) -> str:
    """Say in a sentence what is missing for this program to join others by MPI; "" if nothing is.

    Parameters
    ----------
    called : str
        How the backend is asked for.
    how : str
        What to do to be started by mpiexec.

    Returns
    -------
    str
        With what to do about it.
    """
    if find_spec("mpi4py") is None:
        return (
            f"{called} needs mpi4py and an MPI, which are not installed; to install both: "
            f"python -m pip install mpi4py mpich; then {how}"
        )
    if number_in(MPI_RANKS) is None:
        alone = called.replace("mpi", "processes")
        return (
            f"{called} joins the ranks that mpiexec has started, and it has not started this "
            f"program: {how}; {alone} starts ranks by itself"
        )
    return ""


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
        If mpiexec is of another MPI than mpi4py.
    """
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
    told = number_in(MPI_SIZES)
    if told is not None and here.size != told:
        raise LaunchError(
            f"mpiexec has started {told} ranks, and mpi4py sees {here.size}: they belong to "
            "different MPIs; call the mpiexec of the MPI that mpi4py was built for, with the mpich "
            "wheel the one beside python"
        )
    return here
