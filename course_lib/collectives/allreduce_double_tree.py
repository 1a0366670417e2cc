"""All-reduce on two trees at once: whoever is a leaf in one works in the other."""

from course_lib.collectives.arguments import check_combines, finish, whole, working_copy
from course_lib.comm.collective import collective
from course_lib.comm.communicator import EAGER_BYTES, Array, Communicator
from course_lib.words.split import split_evenly

__all__ = ["allreduce_double_tree"]


@collective
def allreduce_double_tree(
    comm: Communicator, array: Array, op: str = "sum", out: Array | None = None,
    segments: int | None = 4,
) -> Array:  # fmt: skip
    """Combine the arrays of all ranks, half of the vector along each of two binary trees.

    In a binary tree half of the ranks are leaves, which send once and then look on. So in a second
    tree those leaves have the children. Each tree carries half of the vector, in segments: one is
    reduced towards the root while children send the next; then all are broadcast so.

    Parameters
    ----------
    segments : int or None, default: 4
        Messages that each half is cut into, 1 or more; None: as few as make each 16 KiB at most.

    Notes
    -----
    Cost: 2 floor(log2 P) rounds, 2 more for each segment after the first; 4(P-1) messages in all
    for each of ``segments``; a rank sends 2n at most. 8 MB on 8 ranks take the time of 2.1 n on one
    NIC in messages of 16 KiB, which ``send`` copies; of 4 n in larger ones, which wait.

    Invariant: what a rank sends up holds each contribution of its subtree once. The ranks at odd
    places of an order are leaves. Over both orders each rank is one once; if P is odd, one twice.

    References
    ----------
    P. Sanders, J. Speck and J. L. Träff, "Two-tree algorithms for full bandwidth broadcast,
    reduction and scan", Parallel Computing 35(12), 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from course_lib import run
    >>> run(allreduce_double_tree, np.arange(3), workers=4, backend="simulated").values[2]
    array([0, 4, 8])
    """
    check_combines(op, array)
    total = working_copy(array, out)  # flat
    n_segments = _count_segments(total, segments)
    first, second = split_evenly(total.shape[0], 2)
    order = list(range(comm.size))
    second_order = order[::-1] if comm.size % 2 == 0 else order[-1:] + order[:-1]

    # On a communicator of its own: the trees' messages never mix.
    beside = comm.start(_up_and_down, total[second], second_order, op, n_segments)
    _up_and_down(comm, total[first], order, op, n_segments)
    beside.wait()
    return finish(total, array, out)


def _count_segments(total: Array, segments: int | None) -> int:
    """Return as many as are wished, or as leave no message larger than is sent without waiting."""
    if segments is not None:  # each is a message, also where there are no elements for it
        return whole("segments", segments, 1, max(1024, total.shape[0]))
    rows: int = -(-total.shape[0] // 2)
    rows_in_one: int = max(1, EAGER_BYTES // max(1, total[:1].nbytes))
    return max(1, -(-rows // rows_in_one))


def _up_and_down(
    comm: Communicator, half: Array, order: list[int], op: str, n_segments: int
) -> None:
    """Carry sums to the root of the tree over the ranks in ``order``, and the total back."""
    place = order.index(comm.rank) + 1
    above, below = _parent(place, comm.size), _children(place, comm.size)
    parent = order[above - 1] if above else None
    children = [order[child - 1] for child in below]
    segments = [half[segment] for segment in split_evenly(half.shape[0], n_segments)]

    for number, segment in enumerate(segments):  # up, one segment behind the other
        for child in children:
            comm.recv(child, out=segment, op=op, tag=number)
        if parent is not None:
            comm.send(segment, parent, tag=number)
    for number, segment in enumerate(segments):  # down again
        if parent is not None:
            comm.recv(parent, out=segment, tag=number)
        for child in children:
            comm.send(segment, child, tag=number)


# The places 1 to P of a tree, read from left to right; here P = 8. The height of a place is its
# lowest set bit: 1 for leaves, then 2, 4, 8. A parent stands as far away as its child is high.
#
#                  8
#          4
#      2       6
#    1   3   5   7
#
# With fewer ranks places are missing on the right. P = 5: without 6 and 7, 5 hangs from 4, and 4
# is the root; a right child is the next one down its left side that is there.


def _parent(place: int, n_places: int) -> int:
    """Return the place above, 0 for the root."""
    height = place & -place
    is_left = not place & (2 * height)  # a left child has its parent on the right
    return place + height if is_left and place + height <= n_places else place - height


def _children(place: int, n_places: int) -> list[int]:
    """List the places below; for a missing right one the first that is there down its left."""
    step = (place & -place) // 2
    left = [place - step] if step else []
    while step and place + step > n_places:
        step //= 2
    return left + ([place + step] if step else [])
