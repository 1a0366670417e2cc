"""Two exchanges of which each is the other backwards: gather all parts, and sum to own parts.

What is gathered on the way forward was used by every rank, so its slope is the sum of what all
ranks find; and of that sum every rank needs its own part only.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.comm.communicator import Communicator

__all__ = ["gather_parts", "sum_parts"]

Array = NDArray[Any]


def gather_parts(comm: Communicator, own: Array, parts: Sequence[slice], dim: int) -> Array:
    """Put the parts of all ranks together, on every rank.

    Parameters
    ----------
    comm : Communicator
        The group of ranks; all of them must call.
    own : numpy.ndarray
        This rank's part, as long as ``parts`` says in dimension ``dim``.
    parts : sequence of slice
        Where the part of each rank belongs; the same on every rank.
    dim : int
        The dimension that is cut.

    Returns
    -------
    numpy.ndarray
        The whole, the same on every rank.

    Notes
    -----
    Cost: P - 1 rounds; P - 1 messages of its own part sent by each rank.

    Invariant: a part goes straight from who has it to who needs it, and nothing else goes.

    Examples
    --------
    >>> from course_lib import run
    >>> def put_together(comm):
    ...     parts = [slice(0, 1), slice(1, 3)]
    ...     return gather_parts(comm, np.full((1, 1 + comm.rank), comm.rank), parts, dim=1)
    >>> run(put_together, workers=2, backend="simulated").values[0]
    array([[0, 1, 1]])
    """
    shape = list(own.shape)
    shape[dim] = parts[-1].stop
    whole = np.empty(shape, own.dtype)
    whole[_at(parts[comm.rank], dim)] = own
    own = np.ascontiguousarray(own)
    for shift in range(1, comm.size):
        dst, src = (comm.rank + shift) % comm.size, (comm.rank - shift) % comm.size
        whole[_at(parts[src], dim)] = comm.sendrecv(own, dst=dst, src=src, tag="part")
    return whole


def sum_parts(comm: Communicator, partial: Array, parts: Sequence[slice], dim: int) -> Array:
    """Add up what all ranks have for this rank's part, and leave the rest to the others.

    Parameters
    ----------
    comm : Communicator
        The group of ranks; all of them must call.
    partial : numpy.ndarray
        What this rank has to add, for all parts; it is not modified.
    parts : sequence of slice
        The part of each rank; the same on every rank.
    dim : int
        The dimension that is cut.

    Returns
    -------
    numpy.ndarray
        This rank's part of the sum.

    Notes
    -----
    Cost: P - 1 rounds; P - 1 messages sent by each rank, to every other one that one's part.

    Invariant: that of ``gather_parts``, backwards.

    Examples
    --------
    >>> from course_lib import run
    >>> def own_sum(comm):
    ...     return sum_parts(comm, np.array([1, 10, 100]), [slice(0, 1), slice(1, 3)], dim=0)
    >>> run(own_sum, workers=2, backend="simulated").values
    [array([2]), array([ 20, 200])]
    """
    total = np.array(partial[_at(parts[comm.rank], dim)], order="C")
    for shift in range(1, comm.size):
        dst, src = (comm.rank + shift) % comm.size, (comm.rank - shift) % comm.size
        theirs = np.ascontiguousarray(partial[_at(parts[dst], dim)])
        comm.sendrecv(theirs, dst=dst, src=src, out=total, op="sum", tag="part of sum")
    return total


def _at(part: slice, dim: int) -> tuple[slice, ...]:
    return (*[slice(None)] * dim, part)
