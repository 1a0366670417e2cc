"""Reduce without a tree: the root adds up one rank's array after another."""

from course_lib.collectives.arguments import check_combines, check_writable, copy_into
from course_lib.collectives.rooted import check_root
from course_lib.comm.collective import collective
from course_lib.comm.communicator import Array, Communicator

__all__ = ["reduce_flat"]


@collective
def reduce_flat(
    comm: Communicator, array: Array, root: int = 0, op: str = "sum", out: Array | None = None
) -> Array | None:
    """Combine the arrays of all ranks on ``root``, straight into the root.

    The obvious way: everybody sends, the root receives in the order of the ranks and combines. The
    root's NIC carries all of it.

    Notes
    -----
    Cost: 1 round; P - 1 messages in all; the root receives (P-1) n bytes, every other rank sends n.

    Invariant: after its k-th message the root holds k + 1 contributions.

    References
    ----------
    E. Chan, M. Heimlich, A. Purkayastha and R. van de Geijn, "Collective communication: theory,
    practice, and experience", Concurrency and Computation: Practice and Experience 19(13), 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import run
    >>> def collect(comm):
    ...     return reduce_flat(comm, np.full(3, comm.rank))
    >>> run(collect, workers=4, backend="simulated").values
    [array([6, 6, 6]), None, None, None]
    """
    check_root(root, comm.size)
    check_combines(op, array)
    if comm.rank != root:
        comm.send(array, root)
        return None
    check_writable(out)
    total = copy_into(array, out)
    for shift in range(1, comm.size):
        comm.recv((root + shift) % comm.size, out=total, op=op)
    return total
