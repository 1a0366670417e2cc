"""All-reduce with an owner for every chunk: everybody sends to everybody, at once."""

from course_lib.collectives.arguments import check_combines, combine_into, finish, working_copy
from course_lib.comm.collective import collective
from course_lib.comm.communicator import Array, Communicator
from course_lib.words.split import split_evenly

__all__ = ["allreduce_direct"]


@collective
def allreduce_direct(
    comm: Communicator, array: Array, op: str = "sum", out: Array | None = None
) -> Array:
    """Combine the arrays of all ranks, one chunk on each rank, and give every rank the result.

    The array is cut into as many chunks as there are ranks, and each rank owns one. Everybody sends
    every chunk to its owner; an owner adds up what it gets and sends the sum to everybody. It is a
    parameter server spread over all ranks: two rounds, as with one server, and as few bytes on the
    busiest NIC as on a ring. The exchanges of a round are started beside each other, because none
    has to wait for another.

    Notes
    -----
    Cost: 2 rounds; 2P(P-1) messages in all, 2(P-1) sent by each rank; 2(P-1)/P n bytes sent by each
    rank where P divides the length.

    Invariant: between the two rounds, chunk r is complete on rank r.

    References
    ----------
    M. Li, D. G. Andersen, J. W. Park et al., "Scaling distributed machine learning with the
    parameter server", OSDI 2014 (keys divided among servers).

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import run
    >>> run(allreduce_direct, np.arange(3), workers=4, backend="simulated").values[2]
    array([0, 4, 8])
    """
    check_combines(op, array)
    total = working_copy(array, out)
    chunks = [total[chunk] for chunk in split_evenly(total.shape[0], comm.size)]
    mine = chunks[comm.rank]

    arriving = [  # every chunk goes to its owner
        comm.start(_swap, chunks[(comm.rank + shift) % comm.size], shift)
        for shift in range(1, comm.size)
    ]
    for contribution in arriving:
        combine_into(mine, contribution.wait(), op)

    arriving = [comm.start(_swap, mine, shift) for shift in range(1, comm.size)]
    for shift, finished in enumerate(arriving, start=1):  # every owner tells everybody
        chunks[(comm.rank - shift) % comm.size][...] = finished.wait()

    return finish(total, array, out)


def _swap(comm: Communicator, outgoing: Array, shift: int) -> Array:
    """Send to the rank ``shift`` places to the right, receive from as far to the left."""
    right, left = (comm.rank + shift) % comm.size, (comm.rank - shift) % comm.size
    return comm.sendrecv(outgoing, dst=right, src=left)
