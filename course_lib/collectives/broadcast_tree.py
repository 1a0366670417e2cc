"""Broadcast down a binomial tree: in every round, whoever has the array gives it to one more."""

from course_lib.collectives.arguments import check_writable, copy_into
from course_lib.collectives.rooted import check_given, check_root
from course_lib.comm.collective import collective
from course_lib.comm.communicator import Array, Communicator

__all__ = ["broadcast_tree"]


@collective
def broadcast_tree(
    comm: Communicator, array: Array | None = None, root: int = 0, out: Array | None = None
) -> Array:
    """Give every rank the array of ``root``.

    The number of ranks that hold the array doubles in each round: the root gives it to the rank
    about half-way round, then both give it to those a quarter further, if there are any, and so on.

    Notes
    -----
    Cost: ceil(log2 P) rounds; P - 1 messages in all; the root sends ceil(log2 P) n bytes.

    Invariant: numbering the ranks from the root, after r rounds exactly the ranks that are
    multiples of ``2 ** (ceil(log2 P) - r)`` hold the array.

    References
    ----------
    R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations
    in MPICH", International Journal of High Performance Computing Applications 19(1), 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import run
    >>> def share(comm):
    ...     return broadcast_tree(comm, np.arange(3) if comm.rank == 0 else None)
    >>> run(share, workers=4, backend="simulated").values[3]
    array([0, 1, 2])
    """
    check_writable(out)
    check_root(root, comm.size)
    if comm.rank == root:
        array = check_given(array, root)
    position = (comm.rank - root) % comm.size  # the root stands at position 0

    # How far its parent is: the lowest set bit of its position. Of the root, which has none, the
    # first power of two from P on.
    distance = 1
    while distance < comm.size and position % (2 * distance) == 0:
        distance *= 2
    if position != 0:
        array = comm.recv((comm.rank - distance) % comm.size, out=out)
    while distance > 1:
        distance //= 2
        if position + distance < comm.size:
            comm.send(array, (comm.rank + distance) % comm.size)

    return array if position != 0 else copy_into(array, out)
