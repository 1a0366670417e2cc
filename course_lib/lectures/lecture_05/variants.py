"""All-reduces that the lecture compares with the library's: other orders, other options."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.collectives import allreduce_double_tree, allreduce_two_level
from course_lib.comm.communicator import Communicator
from course_lib.words.split import split_evenly

__all__ = [
    "direct_in_turn",
    "double_tree_16k",
    "hierarchical",
    "ten_rounds",
    "twice_round",
    "unchunked_ring",
]

Vector = NDArray[np.float64]


def direct_in_turn(comm: Communicator, x: Vector) -> Vector:
    """All-reduce with an owner for every chunk, one partner at a time.

    Parameters
    ----------
    comm : Communicator
        The ranks.
    x : numpy.ndarray, shape (n,)
        This rank's vector.

    Returns
    -------
    numpy.ndarray, shape (n,)
        The sum.

    Notes
    -----
    Cost: 2(P-1) rounds, each of a chunk to the rank ``shift`` places to the right.
    """
    total = x.copy()
    chunks = [total[part] for part in split_evenly(len(x), comm.size)]
    for is_sum in (True, False):
        for shift in range(1, comm.size):
            right, left = (comm.rank + shift) % comm.size, (comm.rank - shift) % comm.size
            outgoing = chunks[right if is_sum else comm.rank]
            arrived = comm.sendrecv(outgoing, dst=right, src=left)
            if is_sum:
                chunks[comm.rank] += arrived
            else:
                chunks[left][...] = arrived
    return total


def unchunked_ring(comm: Communicator, x: Vector) -> Vector:
    """Send all whole vectors round the ring; everybody adds them up.

    Parameters
    ----------
    comm : Communicator
        The ranks.
    x : numpy.ndarray, shape (n,)
        This rank's vector.

    Returns
    -------
    numpy.ndarray, shape (n,)
        The sum.
    """
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    total, passing = x.copy(), x
    for _ in range(comm.size - 1):
        passing = comm.sendrecv(passing, dst=right, src=left)
        total += passing
    return total


def twice_round(comm: Communicator, x: Vector) -> Vector:
    """Add up on an unchunked ring, then send the sum round as well, though everybody has it.

    Parameters
    ----------
    comm : Communicator
        The ranks.
    x : numpy.ndarray, shape (n,)
        This rank's vector.

    Returns
    -------
    numpy.ndarray, shape (n,)
        The sum.
    """
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    total = unchunked_ring(comm, x)
    for _ in range(comm.size - 1):
        total = comm.sendrecv(total, dst=right, src=left)
    return total


def double_tree_16k(comm: Communicator, x: Vector, out: Vector | None = None) -> Any:
    """Run the double tree in segments of 16 KiB, which do not wait for their receive.

    Parameters
    ----------
    comm : Communicator
        The ranks.
    x : numpy.ndarray, shape (n,)
        This rank's vector.
    out : numpy.ndarray or None, default: None
        Where to put the sum; it may be ``x``.

    Returns
    -------
    numpy.ndarray, shape (n,)
        The sum.
    """
    return allreduce_double_tree(comm, x, out=out, segments=None)


def hierarchical(comm: Communicator, x: Vector, out: Vector | None = None) -> Any:
    """All-reduce on two levels, four ranks a host.

    Parameters
    ----------
    comm : Communicator
        The ranks.
    x : numpy.ndarray, shape (n,)
        This rank's vector.
    out : numpy.ndarray or None, default: None
        Where to put the sum; it may be ``x``.

    Returns
    -------
    numpy.ndarray, shape (n,)
        The sum.
    """
    return allreduce_two_level(comm, x, out=out, ranks_per_host=4)


def ten_rounds(comm: Communicator, x: Vector) -> None:
    """Swap vectors and add, ten times in a row, as a round of a butterfly does.

    Parameters
    ----------
    comm : Communicator
        The ranks, four of them.
    x : numpy.ndarray, shape (n,)
        This rank's vector.
    """
    total = x.copy()
    for step in range(10):
        partner = comm.rank ^ (1 + step % 2)
        comm.sendrecv(x, dst=partner, src=partner, out=total, op="sum")
