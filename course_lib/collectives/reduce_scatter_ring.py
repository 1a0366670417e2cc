"""Reduce-scatter on a ring: everybody ends with one chunk of the sum, and all chunks are there."""

from course_lib.collectives.arguments import check_combines, check_rows, check_writable, copy_into
from course_lib.comm.collective import collective
from course_lib.comm.communicator import Array, Communicator
from course_lib.words.split import split_evenly

__all__ = ["reduce_scatter_ring"]


@collective
def reduce_scatter_ring(
    comm: Communicator, array: Array, op: str = "sum", out: Array | None = None
) -> Array:
    """Combine the arrays of all ranks, and leave chunk r of the result on rank r.

    The array is cut into as many chunks as there are ranks. Chunk r sets out from the rank to the
    right of r, collects a contribution wherever it stops, and arrives at rank r when it has been
    everywhere else. It is the first half of the ring all-reduce, moved on by a chunk, so that
    rank r ends with chunk r.

    Notes
    -----
    Cost: P - 1 rounds; P - 1 messages and (P-1)/P n bytes sent by each rank where P divides the
    number of rows.

    Invariant: before step s, chunk ``rank - s - 1`` of a rank holds s + 1 contributions, and it is
    the one that leaves.

    References
    ----------
    P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
    workstations", Journal of Parallel and Distributed Computing 69(2), 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import run
    >>> def chunk_of_sum(comm):
    ...     return reduce_scatter_ring(comm, np.arange(4))
    >>> run(chunk_of_sum, workers=2, backend="simulated").values
    [array([0, 2]), array([4, 6])]
    """
    check_writable(out)
    check_combines(op, array)
    check_rows(array)
    total = copy_into(array, None)
    chunks = split_evenly(array.shape[0], comm.size)
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size

    for step in range(comm.size - 1):
        outgoing = (comm.rank - step - 1) % comm.size
        incoming = (comm.rank - step - 2) % comm.size
        comm.sendrecv(
            total[chunks[outgoing]],
            dst=right, src=left, out=total[chunks[incoming]], op=op, tag=outgoing,
        )  # fmt: skip

    return copy_into(total[chunks[comm.rank]], out)
