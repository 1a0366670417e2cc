"""All-reduce on a ring: everybody gets the sum, and nobody carries more than anybody else."""

from course_lib.collectives.reduction import finish, message_op, working_copy
from course_lib.comm.collective import collective
from course_lib.comm.communicator import Communicator
from course_lib.comm.messages import Array
from course_lib.shards import split_evenly

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

    Parameters
    ----------
    comm : Communicator
        The group of ranks; all of them must call.
    array : numpy.ndarray or torch.Tensor, any shape
        This rank's contribution, the same shape and dtype on every rank; it is not modified.
    op : {"sum", "mean", "max", "min"}, default: "sum"
        How two elements become one.
    out : array or None, default: None
        Where to put the result; same shape and dtype as ``array``.

    Returns
    -------
    numpy.ndarray or torch.Tensor
        The combined array, bit for bit the same on every rank; a new one unless ``out`` is given.

    Raises
    ------
    ValueError
        If ``op`` is unknown, or is ``"mean"`` and the numbers are whole.

    Notes
    -----
    Cost: 2(P-1) rounds; 2(P-1) messages sent by each rank; 2(P-1)/P n bytes sent by each rank
    where P divides the length, P ranks and n bytes.

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
    >>> def sum_of_ranks(comm):
    ...     return allreduce_ring(comm, np.full(3, comm.rank))
    >>> run(sum_of_ranks, workers=4, backend="simulated").values[2]
    array([6, 6, 6])
    """
    combine = message_op(op, array)
    total = working_copy(array, out)
    chunks = split_evenly(total.shape[0], comm.size)
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size

    for step in range(comm.size - 1):  # reduce-scatter: chunks gather contributions
        outgoing = (comm.rank - step) % comm.size
        incoming = (comm.rank - step - 1) % comm.size
        comm.sendrecv(
            total[chunks[outgoing]],
            dst=right, src=left, out=total[chunks[incoming]], op=combine, tag=outgoing,
        )  # fmt: skip

    for step in range(comm.size - 1):  # all-gather: finished chunks go round
        outgoing = (comm.rank + 1 - step) % comm.size
        incoming = (comm.rank - step) % comm.size
        comm.sendrecv(
            total[chunks[outgoing]],
            dst=right, src=left, out=total[chunks[incoming]], tag=outgoing,
        )  # fmt: skip

    return finish(total, op, comm.size, array, out)
