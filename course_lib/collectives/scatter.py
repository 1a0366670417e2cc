"""Scatter: the root's rows are dealt out, a part to every rank."""

from course_lib.collectives.arguments import check_rows, check_writable, copy_into
from course_lib.collectives.rooted import check_given, check_root
from course_lib.comm.collective import collective
from course_lib.comm.communicator import Array, Communicator
from course_lib.words.split import split_evenly

__all__ = ["scatter"]


@collective
def scatter(
    comm: Communicator, array: Array | None = None, root: int = 0, out: Array | None = None
) -> Array:
    """Cut the root's array into one part for each rank, and give every rank its part.

    The parts are those of ``split_evenly`` along the first axis: they differ by one row at most.
    ``gather`` puts them together again.

    Notes
    -----
    Cost: 1 round; P - 1 messages in all; the root sends (P-1)/P n bytes where P divides the number
    of rows.

    Invariant: only the root sends.

    References
    ----------
    E. Chan, M. Heimlich, A. Purkayastha and R. van de Geijn, "Collective communication: theory,
    practice, and experience", Concurrency and Computation: Practice and Experience 19(13), 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import run
    >>> def deal(comm):
    ...     return scatter(comm, np.arange(5) if comm.rank == 0 else None)
    >>> run(deal, workers=2, backend="simulated").values
    [array([0, 1]), array([2, 3, 4])]
    """
    check_writable(out)
    check_root(root, comm.size)
    if comm.rank != root:
        return comm.recv(root, out=out)
    array = check_given(array, root)
    check_rows(array)
    parts = split_evenly(array.shape[0], comm.size)
    for shift in range(1, comm.size):
        dst = (root + shift) % comm.size
        comm.send(array[parts[dst]], dst, tag=dst)
    return copy_into(array[parts[root]], out)
