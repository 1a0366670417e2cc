"""Gather: the root gets everybody's array, one after another."""

from course_lib.collectives.rows import check_root, check_rows, check_writable, join
from course_lib.comm.collective import collective
from course_lib.comm.communicator import Communicator
from course_lib.comm.messages import Array

__all__ = ["gather"]


@collective
def gather(
    comm: Communicator, array: Array, root: int = 0, out: Array | None = None
) -> Array | None:
    """Put the arrays of all ranks one after another, on ``root``.

    Every rank sends its array straight to the root. Nothing is combined, so that a tree would save
    rounds but no bytes: the root has to receive all of it in any case.

    Parameters
    ----------
    comm : Communicator
        The group of ranks; all of them must call.
    array : numpy.ndarray or torch.Tensor, shape (rows, ...)
        This rank's rows, of the same dtype and the same shape but for their number on every rank.
    root : int, default: 0
        The rank that gets everything; the same on every rank.
    out : array or None, default: None
        Where the root puts the result; no other rank uses it.

    Returns
    -------
    numpy.ndarray or torch.Tensor or None
        On the root the rows of rank 0, then those of rank 1, and so on; a new array unless ``out``
        is given. None on the others.

    Raises
    ------
    ValueError
        If ``root`` is not a rank, ``array`` has no rows, or ``out`` is not of the result's shape.

    Notes
    -----
    Cost: 1 round; P - 1 messages in all; the root receives (P-1) n bytes, every other rank sends n,
    P ranks and n bytes on each.

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
