"""All-reduce on a ring: everybody gets the sum, and nobody carries more than anybody else."""

from course_lib.collectives.arguments import check_combines, finish, working_copy
from course_lib.comm.collective import collective
from course_lib.comm.communicator import Array, Communicator
from course_lib.words.split import split_evenly

__all__ = ["allreduce_ring"]


@collective
def allreduce_ring(
    comm: Communicator, array: Array, op: str = "sum", out: Array | None = None
) -> Array:
    """Combine the arrays of all ranks and give every rank the result.

    The array is cut into as many chunks as there are ranks. In the first half of the steps every
    rank sends one chunk to its right neighbour and adds the chunk that comes from the left to its
    own; after P - 1 steps each rank holds one chunk that contains everybody's numbers. In the
    second half the finished chunks travel once around the ring.

    Notes
    -----
    Cost: 2(P-1) rounds; 2(P-1) messages sent by each rank; 2(P-1)/P n bytes sent by each rank
    where P divides the length.

    Invariant: before step s of the first half, chunk ``rank - s`` of a rank holds s + 1
    contributions, and it is the one that leaves.

    References
    ----------
    P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
    workstations", Journal of Parallel and Distributed Computing 69(2), 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import run
    >>> run(allreduce_ring, np.arange(3), workers=4, backend="simulated").values[2]
    array([0, 4, 8])
    """
    check_combines(op, array)
    total = working_copy(array, out)  # shape (n,)
    chunks = split_evenly(total.shape[0], comm.size)
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size

    for step in range(comm.size - 1):  # reduce-scatter: chunks gather contributions
        outgoing = (comm.rank - step) % comm.size
        incoming = (comm.rank - step - 1) % comm.size
        comm.sendrecv(
            total[chunks[outgoing]],
            dst=right, src=left, out=total[chunks[incoming]], op=op, tag=outgoing,
        )  # fmt: skip

    for step in range(comm.size - 1):  # all-gather: finished chunks go round
        outgoing = (comm.rank + 1 - step) % comm.size
        incoming = (comm.rank - step) % comm.size
        comm.sendrecv(
            total[chunks[outgoing]],
            dst=right, src=left, out=total[chunks[incoming]], tag=outgoing,
        )  # fmt: skip

    return finish(total, array, out)
