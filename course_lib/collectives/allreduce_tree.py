"""All-reduce on a binary tree: sums are reduced to the root, the total is broadcast."""

from course_lib.collectives.arguments import check_combines, finish, working_copy
from course_lib.comm.collective import collective
from course_lib.comm.communicator import Array, Communicator

__all__ = ["allreduce_tree"]


@collective
def allreduce_tree(
    comm: Communicator, array: Array, op: str = "sum", out: Array | None = None
) -> Array:
    """Combine the arrays of all ranks along a binary tree and give every rank the result.

    The ranks stand as in a heap: rank r has the children 2r + 1 and 2r + 2. A parent adds its
    children's arrays to its own and hands the sum up; the root, rank 0, then has the total, which
    goes down the same way. With the values 7, 5, 6, 1, 2, 3, 4 on ranks 0 to 6, ranks 1 and 2 get
    to 8 and 13, and the root to 28.

    Notes
    -----
    Cost: 2 floor(log2 P) rounds; 2(P-1) messages in all; a rank with two children and a parent
    sends and receives 3n bytes, the root 2n, a leaf n. Where P + 1 is a power
    of two, the busiest NIC of every round carries 2n bytes: 4 floor(log2 P) n in all.

    Invariant: what a rank sends up holds each contribution of its subtree once, and no other.

    References
    ----------
    R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations
    in MPICH", International Journal of High Performance Computing Applications 19(1), 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import run
    >>> run(allreduce_tree, np.arange(3), workers=4, backend="simulated").values[2]
    array([0, 4, 8])
    """
    check_combines(op, array)
    total = working_copy(array, out)
    parent = (comm.rank - 1) // 2
    children = [child for child in (2 * comm.rank + 1, 2 * comm.rank + 2) if child < comm.size]

    for child in children:
        comm.recv(child, out=total, op=op)
    if comm.rank != 0:
        comm.send(total, parent)
        comm.recv(parent, out=total)
    for child in children:
        comm.send(total, child)

    return finish(total, array, out)
