"""How a program leaves MPI: together with the others, or not at all.

``MPI_Finalize`` waits for all ranks, busily and for ever. A program that ends with an exception, or
after a run that has failed, must not wait for one that is stuck: it gives the others some seconds
to tell what they have to tell, then has MPI end all.
"""

import atexit
import math
import sys
from typing import Protocol

from mpi4py import MPI

__all__ = ["leave_together"]

_OTHERS_SPEAK_S = 5.0


class Leaving(Protocol):
    """What there is to leave."""

    @property
    def has_failed(self) -> bool:
        """Whether the last run was left in the middle."""

    def leave(self, limit_s: float) -> bool:
        """Wait for the other ranks; return whether all are ready."""


def leave_together(here: Leaving) -> None:
    """Have this program leave MPI, at its end, in a way that ends.

    Parameters
    ----------
    here : Leaving
        The ranks that there are.
    """
    atexit.register(_leave, here)


def _leave(here: Leaving) -> None:
    if MPI.Is_finalized():
        return
    has_failed = here.has_failed or getattr(sys, "last_value", None) is not None
    if not here.leave(_OTHERS_SPEAK_S if has_failed else math.inf):
        sys.stdout.flush()
        sys.stderr.flush()
        MPI.COMM_WORLD.Abort(1)
