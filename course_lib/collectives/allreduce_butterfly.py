"""All-reduce on a butterfly (recursive doubling): in every round, everybody knows twice as much."""

from course_lib.collectives.arguments import check_combines, combine_into, finish, working_copy
from course_lib.collectives.power_of_two import fold_in, fold_out
from course_lib.comm.collective import collective
from course_lib.comm.communicator import Array, Communicator
from course_lib.words.namespace import namespace

__all__ = ["allreduce_butterfly"]


@collective
def allreduce_butterfly(
    comm: Communicator, array: Array, op: str = "sum", out: Array | None = None
) -> Array:
    """Combine the arrays of all ranks by exchanging them pairwise, in as few rounds as possible.

    In round k = 0, 1, ... every rank swaps its array with the rank whose number differs in bit k,
    and both add what they get to what they had. After round k a rank knows the sum of 2 ** (k + 1)
    ranks, so log2 P rounds are enough. Ranks beyond the largest power of two have no partner: they
    give their array to one that has, and are told the total.

    Notes
    -----
    Cost: with Q the largest power of two that is not above P: log2 Q rounds, and 2 more where
    P > Q; Q log2 Q + 2(P-Q) messages in all; n bytes on the busiest NIC of every round: a rank
    below Q sends n log2 Q bytes, and n more where it has taken in another.

    Invariant: after round k, the ranks that differ in their bits 0 to k only hold the same sum:
    that of all of them, and of whom they have taken in.

    References
    ----------
    R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of collective communication operations
    in MPICH", International Journal of High Performance Computing Applications 19(1), 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import run
    >>> run(allreduce_butterfly, np.arange(3), workers=4, backend="simulated").values[2]
    array([0, 4, 8])
    """
    check_combines(op, array)
    total = working_copy(array, out)
    active = fold_in(comm, total, op)

    if comm.rank < active:
        mine = namespace(total).empty_like(total)
        distance = 1
        while distance < active:
            partner = comm.rank ^ distance
            mine[...] = total  # what leaves may not change while the other's is being added
            if comm.rank < partner:
                comm.sendrecv(mine, dst=partner, src=partner, out=total, op=op)
            else:  # the lower rank's first here too: max(0.0, -0.0) is not max(-0.0, 0.0)
                comm.sendrecv(mine, dst=partner, src=partner, out=total)
                combine_into(total, mine, op)
            distance *= 2

    fold_out(comm, total, active)
    return finish(total, array, out)
