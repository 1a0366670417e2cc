"""Collectives: one algorithm, one file, over ``send`` / ``recv`` / ``sendrecv`` only.

What they share is said here, and in a file only what is its own: the idea, the cost, an invariant,
an example, and then the algorithm.

Every collective
    All ranks of ``comm`` call it, in the same order and with the same options. ``array`` is not
    modified. The result is a new array, or ``out`` where that is given. Arrays are NumPy's or
    torch's; autograd ends here. In a ``Cost``, P is the number of ranks and n the bytes of
    ``array``; where a rank is not said, each sends as much. Messages of one round do not wait for
    each other's arrival, and may share a NIC. A ``tag`` only names what leaves.

    comm : Communicator
        The group of ranks.
    array : numpy.ndarray or torch.Tensor
        What this rank puts in.
    out : array or None, default: None
        Where to put the result: of its shape and dtype, and writable. An all-reduce or a
        broadcast may be given ``array`` itself, and then works in place.

All-reduces, ``allreduce_*(comm, array, op="sum", out=None)``
    Combine the arrays of all ranks, element by element, and give every rank the result, bit for
    bit the same. Arrays have any shape; shape and dtype are the same on every rank. ``allreduce``
    takes the one that is fastest, by ``rates``.

    op : {"sum", "max", "min"}, default: "sum"
        How two elements become one. Who wants the mean divides the sum by ``comm.size``.

To and from a root, ``*_flat``, ``*_tree``, ``gather``, ``scatter``
    One rank, the root, has or gets everything. The result of ``reduce_*`` and ``gather`` is on the
    root, and None on the others; only the root's ``array`` counts in ``broadcast_*`` and
    ``scatter``, the others may leave it out.

    root : int, default: 0
        The rank that has, or gets, everything; the same on every rank.

Rows, ``gather``, ``scatter``, ``allgather_ring``, ``reduce_scatter_ring``, ``alltoall``
    Arrays have shape (rows, ...). What is put together stands in the order of the ranks, and may
    differ in its number of rows. What is cut into one part for each rank is cut by
    ``split_evenly(rows, comm.size)``: parts differ by one row at most.

Raises
------
ValueError
    If ``root`` is no rank, ``op`` is unknown, the root has no array, an array to be cut has no
    rows, or ``out`` has another shape or dtype than the result, or cannot be written.
TypeError
    If ``array`` is no array, or its elements cannot be combined so: a sum of bools would be a
    logical or.
CollectiveMismatchError
    If ranks meet in different collectives, or in one with different options.
"""

from collections.abc import Callable

from course_lib.collectives.allgather_ring import allgather_ring
from course_lib.collectives.allreduce import allreduce
from course_lib.collectives.allreduce_butterfly import allreduce_butterfly
from course_lib.collectives.allreduce_central import allreduce_central
from course_lib.collectives.allreduce_direct import allreduce_direct
from course_lib.collectives.allreduce_double_tree import allreduce_double_tree
from course_lib.collectives.allreduce_halving_doubling import allreduce_halving_doubling
from course_lib.collectives.allreduce_ring import allreduce_ring
from course_lib.collectives.allreduce_tree import allreduce_tree
from course_lib.collectives.allreduce_two_level import allreduce_two_level
from course_lib.collectives.alltoall import alltoall
from course_lib.collectives.broadcast_flat import broadcast_flat
from course_lib.collectives.broadcast_tree import broadcast_tree
from course_lib.collectives.gather import gather
from course_lib.collectives.reduce_flat import reduce_flat
from course_lib.collectives.reduce_scatter_ring import reduce_scatter_ring
from course_lib.collectives.reduce_tree import reduce_tree
from course_lib.collectives.scatter import scatter
from course_lib.comm.messages import Array

__all__ = [
    "ALLREDUCES",
    "allgather_ring",
    "allreduce",
    "allreduce_butterfly",
    "allreduce_central",
    "allreduce_direct",
    "allreduce_double_tree",
    "allreduce_halving_doubling",
    "allreduce_ring",
    "allreduce_tree",
    "allreduce_two_level",
    "alltoall",
    "broadcast_flat",
    "broadcast_tree",
    "gather",
    "reduce_flat",
    "reduce_scatter_ring",
    "reduce_tree",
    "scatter",
]

ALLREDUCES: dict[str, Callable[..., Array]] = {
    "central": allreduce_central,
    "direct": allreduce_direct,
    "tree": allreduce_tree,
    "double_tree": allreduce_double_tree,
    "butterfly": allreduce_butterfly,
    "halving_doubling": allreduce_halving_doubling,
    "ring": allreduce_ring,
    "two_level": allreduce_two_level,
}
"""In the order of the lecture: from the obvious to the clever."""
