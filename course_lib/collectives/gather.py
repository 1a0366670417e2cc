"""Gather: the root gets everybody's array, one after another."""

from course_lib.collectives.arguments import check_rows, check_writable, join
from course_lib.collectives.rooted import check_root
from course_lib.comm.collective import collective
from course_lib.comm.communicator import Array, Communicator

__all__ = ["gather"]


@collective
def gather(
    comm: Communicator, array: Array, root: int = 0, out: Array | None = None
) -> Array | None:
    """Put the arrays of all ranks one after another, on ``root``.

    Every rank sends its array straight to the root. Nothing is combined, so that a tree would save
    rounds but no bytes: the root has to receive all of it in any case.

    Notes
    -----
    Cost: 1 round; P - 1 messages in all; the root receives (P-1) n bytes, every other rank sends n.

    Invariant: only the root receives.

    References
    ----------
    E. Chan, M. Heimlich, A. Purkayastha and R. van de Geijn, "Collective communication: theory,
    practice, and experience", Concurrency and Computation: Practice and Experience 19(13), 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import run
    >>> def collect(comm):
    ...     return gather(comm, np.full(2, comm.rank))
    >>> run(collect, workers=3, backend="simulated").values
    [array([0, 0, 1, 1, 2, 2]), None, None]
    """
    check_writable(out)
    check_root(root, comm.size)
    check_rows(array)
    if comm.rank != root:
        comm.send(array, root)
        return None
    parts = [array if src == root else comm.recv(src) for src in range(comm.size)]
    return join(parts, out)
