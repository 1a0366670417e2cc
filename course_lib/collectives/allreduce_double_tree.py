"""All-reduce on two trees at once: whoever is a leaf in one works in the other."""

from course_lib.collectives.reduction import finish, message_op, working_copy
from course_lib.comm.collective import collective
from course_lib.comm.communicator import Communicator
from course_lib.comm.messages import Array
from course_lib.shards import split_evenly

__all__ = ["allreduce_double_tree"]


@collective
def allreduce_double_tree(
    comm: Communicator, array: Array, op: str = "sum", out: Array | None = None, segments: int = 4
) -> Array:
    """Combine the arrays of all ranks, half of the vector along each of two binary trees.

    In a binary tree half of the ranks are leaves: they send their array once and then look on. So
    a second tree is laid over the same ranks, in which the leaves of the first have the children,
    and each tree carries one half of the vector. A half travels in segments, so that a rank hands
    the first one up while its children still send the next.

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
    segments : int, default: 4
        Into how many messages each half is cut; the same on every rank.

    Returns
    -------
    numpy.ndarray or torch.Tensor
        The combined array, bit for bit the same on every rank; a new one unless ``out`` is given.

    Raises
    ------
    ValueError
        If ``op`` is unknown, or is ``"mean"`` and the numbers are whole, or
        ``segments`` is below 1.

    Notes
    -----
    Cost: 2 floor(log2 P) rounds; 4(P-1) messages in all for each of ``segments``; n/2 bytes go up
    and n/2 down every edge of a tree, so that a rank with two children in one tree sends 1.5n
    bytes there and n/2 as a leaf of the other: 2n at most, P ranks and n bytes.

    Invariant: the ranks at odd places of a tree's order are its leaves; the second order is the
    first one mirrored, or shifted by one where P is odd, so that odd places become even (but one).

    References
    ----------
    P. Sanders, J. Speck and J. L. Träff, "Two-tree algorithms for full bandwidth broadcast,
    reduction and scan", Parallel Computing 35(12), 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import run
    >>> def sum_of_ranks(comm):
    ...     return allreduce_double_tree(comm, np.full(3, comm.rank))
    >>> run(sum_of_ranks, workers=4, backend="simulated").values[2]
    array([6, 6, 6])
    """
    combine = message_op(op, array)
    if segments < 1:
        raise ValueError(f"segments must be 1 or more, got {segments}")
    total = working_copy(array, out)
    first, second = split_evenly(total.shape[0], 2)
    ranks = list(range(comm.size))
    others = ranks[::-1] if comm.size % 2 == 0 else ranks[-1:] + ranks[:-1]

    beside = comm.start(_up_and_down, total[second], others, combine, segments)
    _up_and_down(comm, total[first], ranks, combine, segments)
    beside.wait()
    return finish(total, op, comm.size, array, out)


def _up_and_down(
    comm: Communicator, total: Array, order: list[int], op: str, n_segments: int
) -> None:
    """Carry sums to the root of the tree over the ranks in ``order``, and the total back."""
    parent, children = _family(order.index(comm.rank) + 1, order)
    segments = [total[segment] for segment in split_evenly(total.shape[0], n_segments)]

    for number, segment in enumerate(segments):
        for child in children:
            comm.recv(child, out=segment, op=op, tag=number)
        if parent is not None:
            comm.send(segment, parent, tag=number)
    for number, segment in enumerate(segments):
        if parent is not None:
            comm.recv(parent, out=segment, tag=number)
        for child in children:
            comm.send(segment, child, tag=number)


def _family(place: int, order: list[int]) -> tuple[int | None, list[int]]:
    """Find the parent and the children of a place, 1 to P, in the tree that is read in order.

    The height of a place is that of its lowest set bit: odd places are leaves.
    """
    bit = place & -place
    parent = place ^ bit | 2 * bit  # of the next height, unless there is no such place
    if parent > len(order):
        parent = place ^ bit
    children = [place - bit // 2] if bit > 1 else []
    to_the_right = bit // 2
    while to_the_right and place + to_the_right > len(order):
        to_the_right //= 2
    if to_the_right:
        children.append(place + to_the_right)
    return order[parent - 1] if parent else None, [order[child - 1] for child in children]
