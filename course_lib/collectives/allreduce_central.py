"""All-reduce through one rank: rank 0 adds up everything and sends the total back."""

from course_lib.collectives.arguments import check_combines, finish, working_copy
from course_lib.comm.collective import collective
from course_lib.comm.communicator import Array, Communicator

__all__ = ["allreduce_central"]


@collective
def allreduce_central(
    comm: Communicator, array: Array, op: str = "sum", out: Array | None = None
) -> Array:
    """Combine the arrays of all ranks on rank 0 and give every rank the result.

    This is what a parameter server does in every step. All the others send rank 0 their array; it
    combines them and sends each of them the total. Two rounds are enough, however many ranks there
    are, but every byte passes through one NIC.

    Notes
    -----
    Cost: 2 rounds; 2(P-1) messages in all; rank 0 sends and receives (P-1) n bytes, every other
    rank n bytes. All of it passes one NIC, which is busy for 2(P-1) n bytes.

    Invariant: after its k-th message, rank 0 holds the contributions of ranks 0 to k.

    References
    ----------
    M. Li, D. G. Andersen, J. W. Park et al., "Scaling distributed machine learning with the
    parameter server", OSDI 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import run
    >>> run(allreduce_central, np.arange(3), workers=4, backend="simulated").values[2]
    array([0, 4, 8])
    """
    check_combines(op, array)
    total = working_copy(array, out)

    if comm.rank == 0:
        for src in range(1, comm.size):
            comm.recv(src, out=total, op=op)
        for dst in range(1, comm.size):
            comm.send(total, dst)
    else:
        comm.send(total, 0)
        comm.recv(0, out=total)

    return finish(total, array, out)
