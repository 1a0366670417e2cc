"""Broadcast without a tree: the root gives the array to one rank after another."""

from course_lib.collectives.arguments import check_writable, copy_into
from course_lib.collectives.rooted import check_given, check_root
from course_lib.comm.collective import collective
from course_lib.comm.communicator import Array, Communicator

__all__ = ["broadcast_flat"]


@collective
def broadcast_flat(
    comm: Communicator, array: Array | None = None, root: int = 0, out: Array | None = None
) -> Array:
    """Give every rank the array of ``root``, straight from the root.

    The obvious way, and the shortest for two or three ranks. With more of them the root's network
    NIC is the bottleneck: ``broadcast_tree`` lets those help that have the array already.

    Notes
    -----
    Cost: 1 round; P - 1 messages in all; the root sends (P-1) n bytes.

    Invariant: only the root sends.

    References
    ----------
    E. Chan, M. Heimlich, A. Purkayastha and R. van de Geijn, "Collective communication: theory,
    practice, and experience", Concurrency and Computation: Practice and Experience 19(13), 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import run
    >>> def share(comm):
    ...     return broadcast_flat(comm, np.arange(3) if comm.rank == 0 else None)
    >>> run(share, workers=4, backend="simulated").values[3]
    array([0, 1, 2])
    """
    check_writable(out)
    check_root(root, comm.size)
    if comm.rank != root:
        return comm.recv(root, out=out)
    array = check_given(array, root)
    for shift in range(1, comm.size):
        comm.send(array, (root + shift) % comm.size)
    return copy_into(array, out)
