"""All-to-all: every rank has something else for every other one."""

from course_lib.collectives.arguments import check_rows, check_writable, join
from course_lib.comm.collective import collective
from course_lib.comm.communicator import Array, Communicator
from course_lib.words.split import split_evenly

__all__ = ["alltoall"]


@collective
def alltoall(comm: Communicator, array: Array, out: Array | None = None) -> Array:
    """Give part j of every rank's array to rank j.

    The ranks' parts form a table, with a row for the sender and a column for the receiver; this
    turns rows into columns. In step s every rank sends to the one s places to its right and
    receives from the one as far to its left, so that nobody has two messages to receive at a time.

    Notes
    -----
    Cost: P - 1 rounds; P - 1 messages and (P-1)/P n bytes sent by each rank where P divides the
    number of rows.

    Invariant: no part is passed on: it goes from its sender straight to its receiver.

    References
    ----------
    R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations
    in MPICH", International Journal of High Performance Computing Applications 19(1), 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import run
    >>> def turn(comm):
    ...     return alltoall(comm, 10 * comm.rank + np.arange(3))
    >>> run(turn, workers=3, backend="simulated").values
    [array([ 0, 10, 20]), array([ 1, 11, 21]), array([ 2, 12, 22])]
    """
    check_writable(out)
    check_rows(array)
    parts = [array[part] for part in split_evenly(array.shape[0], comm.size)]
    arrived = [parts[comm.rank]] * comm.size  # all but this rank's own are replaced
    for shift in range(1, comm.size):
        dst, src = (comm.rank + shift) % comm.size, (comm.rank - shift) % comm.size
        arrived[src] = comm.sendrecv(parts[dst], dst=dst, src=src, tag=dst)
    return join(arrived, out)
