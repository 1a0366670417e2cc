"""Reduce up a binomial tree: in every round, half of those who still hold a sum hand it on."""

from course_lib.collectives.arguments import check_combines, finish, working_copy
from course_lib.collectives.rooted import check_root
from course_lib.comm.collective import collective
from course_lib.comm.communicator import Array, Communicator

__all__ = ["reduce_tree"]


@collective
def reduce_tree(
    comm: Communicator, array: Array, root: int = 0, op: str = "sum", out: Array | None = None
) -> Array | None:
    """Combine the arrays of all ranks on ``root`` in ceil(log2 P) rounds.

    It is the broadcast tree with all arrows turned round. In the first round every second rank
    hands its array to its neighbour, in the next every second one of those that are left, and so
    on, until the root has everything.

    Notes
    -----
    Cost: ceil(log2 P) rounds; P - 1 messages in all; the root receives ceil(log2 P) n bytes, every
    other rank sends n.

    Invariant: numbering the ranks from the root, a rank that is a multiple of ``2 ** r`` holds
    after r rounds the contributions of the ``2 ** r`` ranks from itself on, if there are as many.

    References
    ----------
    R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations
    in MPICH", International Journal of High Performance Computing Applications 19(1), 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import run
    >>> def collect(comm):
    ...     return reduce_tree(comm, np.full(3, comm.rank))
    >>> run(collect, workers=4, backend="simulated").values
    [array([6, 6, 6]), None, None, None]
    """
    check_root(root, comm.size)
    check_combines(op, array)
    total = working_copy(array, out if comm.rank == root else None)
    position = (comm.rank - root) % comm.size  # the root stands at position 0

    distance = 1
    while distance < comm.size and position % (2 * distance) == 0:
        if position + distance < comm.size:
            comm.recv((comm.rank + distance) % comm.size, out=total, op=op)
        distance *= 2

    if position != 0:  # the lowest set bit of the position says who my parent is
        comm.send(total, (comm.rank - distance) % comm.size)
        return None
    return finish(total, array, out)
