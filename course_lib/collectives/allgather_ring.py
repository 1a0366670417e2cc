"""All-gather on a ring: everybody's part travels once round, past everybody else."""

from course_lib.collectives.arguments import check_rows, check_writable, join
from course_lib.comm.collective import collective
from course_lib.comm.communicator import Array, Communicator

__all__ = ["allgather_ring"]


@collective
def allgather_ring(comm: Communicator, array: Array, out: Array | None = None) -> Array:
    """Put the arrays of all ranks one after another, on every rank.

    In every step each rank passes on to its right neighbour what it got last, beginning with its
    own part. After P - 1 steps every part has been everywhere. It is the second half of the ring
    all-reduce.

    Notes
    -----
    Cost: P - 1 rounds; P - 1 messages and (P-1) n bytes sent by each rank.

    Invariant: before step s a rank holds the s + 1 parts of its own and its nearest ranks to the
    left, and the farthest of them leaves.

    References
    ----------
    P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
    workstations", Journal of Parallel and Distributed Computing 69(2), 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import run
    >>> def share(comm):
    ...     return allgather_ring(comm, np.full(2, comm.rank))
    >>> run(share, workers=3, backend="simulated").values[1]
    array([0, 0, 1, 1, 2, 2])
    """
    check_writable(out)
    check_rows(array)
    parts: list[Array] = [array] * comm.size  # all but this rank's own are replaced
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for step in range(comm.size - 1):
        outgoing = (comm.rank - step) % comm.size
        incoming = (comm.rank - step - 1) % comm.size
        parts[incoming] = comm.sendrecv(parts[outgoing], dst=right, src=left, tag=outgoing)
    return join(parts, out)
