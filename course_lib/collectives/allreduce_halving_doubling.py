"""All-reduce by halving and doubling (Rabenseifner): few rounds and few bytes."""

from course_lib.collectives.arguments import check_combines, finish, working_copy
from course_lib.collectives.power_of_two import fold_in, fold_out
from course_lib.comm.collective import collective
from course_lib.comm.communicator import Array, Communicator

__all__ = ["allreduce_halving_doubling"]


@collective
def allreduce_halving_doubling(
    comm: Communicator, array: Array, op: str = "sum", out: Array | None = None
) -> Array:
    """Combine the arrays of all ranks in few rounds, and with a ring's bytes where P is 2 ** k.

    In the first half every rank swaps half of its range with a partner: each keeps one half, gives
    the other away and adds what it gets. The range halves in every round, the distance of the
    partner doubles; at the end each rank holds 1/P of the vector, complete. The second half runs
    the same exchanges backwards, and the ranges grow again. Ranks beyond the largest power of two
    give their array to another, and are told the total.

    Notes
    -----
    Cost: with Q the largest power of two that is not above P: 2 log2 Q rounds, 2 more where P > Q;
    2Q log2 Q + 2(P-Q) messages in all; 2(Q-1)/Q n bytes sent by each rank below Q where Q divides
    the length, n more where it has taken in another.

    Invariant: after r rounds of the first half a rank's range is n / 2 ** r long and holds the
    contributions of 2 ** r ranks (and of whom they have taken in).

    References
    ----------
    R. Rabenseifner, "Optimization of collective reduction operations", International Conference on
    Computational Science, LNCS 3036, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import run
    >>> run(allreduce_halving_doubling, np.arange(3), workers=4, backend="simulated").values[2]
    array([0, 4, 8])
    """
    check_combines(op, array)
    total = working_copy(array, out)
    active = fold_in(comm, total, op)

    if comm.rank < active:
        low, high = 0, total.shape[0]
        exchanges = []
        distance = 1
        while distance < active:  # reduce-scatter: my range halves, what it holds doubles
            partner = comm.rank ^ distance
            middle = (low + high) // 2
            keep, give = slice(low, middle), slice(middle, high)
            if comm.rank > partner:
                keep, give = give, keep
            comm.sendrecv(total[give], dst=partner, src=partner, out=total[keep], op=op)
            exchanges.append((partner, keep, give))
            low, high = keep.start, keep.stop
            distance *= 2

        for partner, keep, give in reversed(exchanges):  # all-gather: my range doubles again
            comm.sendrecv(total[keep], dst=partner, src=partner, out=total[give])

    fold_out(comm, total, active)
    return finish(total, array, out)
