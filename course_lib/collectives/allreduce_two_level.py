"""All-reduce on two levels: inside the hosts first, then between them."""

from course_lib.collectives.allreduce_ring import allreduce_ring
from course_lib.collectives.arguments import check_combines, finish, whole, working_copy
from course_lib.collectives.broadcast_tree import broadcast_tree
from course_lib.collectives.reduce_tree import reduce_tree
from course_lib.comm.collective import collective
from course_lib.comm.communicator import Array, Communicator

__all__ = ["allreduce_two_level"]


@collective
def allreduce_two_level(
    comm: Communicator, array: Array, op: str = "sum", out: Array | None = None,
    ranks_per_host: int = 2,
) -> Array:  # fmt: skip
    """Combine the arrays of all ranks with as little traffic between hosts as possible.

    Links inside a host are faster than those between hosts. So the ranks of a host add up first;
    then one of each, its leader, takes part in a ring between hosts; then it broadcasts.

    Parameters
    ----------
    ranks_per_host : int, default: 2
        How many ranks share a host, 1 or more; the last host may have fewer.

    Notes
    -----
    Cost: with H = ceil(P / L) hosts of L = ``ranks_per_host`` ranks, L up to P: 2 ceil(log2 L) +
    2(H-1) rounds; 2(P-H) messages inside the hosts and 2H(H-1) between them; 2(H-1)/H n bytes leave
    each host where H divides the length.

    Invariant: between the phases, the leaders' arrays together hold each contribution once.

    References
    ----------
    X. Jia, S. Song, W. He et al., "Highly scalable deep learning training system with
    mixed-precision: training ImageNet in four minutes", arXiv:1807.11205, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import run
    >>> run(allreduce_two_level, np.arange(3), workers=4, backend="simulated").values[2]
    array([0, 4, 8])
    """
    check_combines(op, array)
    ranks_per_host = whole("ranks_per_host", ranks_per_host, 1)
    total = working_copy(array, out)

    host = comm.split(color=comm.rank // ranks_per_host)
    assert host is not None  # every rank has named a host
    leaders = comm.split(color=0 if host.rank == 0 else None)

    reduce_tree(host, total, op=op, out=total)
    if leaders is not None:
        allreduce_ring(leaders, total, op=op, out=total)
    broadcast_tree(host, total, out=total)

    return finish(total, array, out)
