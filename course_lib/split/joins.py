"""Three ways from data-parallel layers into split ones: whose examples are computed when.

Before the join every rank has its own examples, after it every rank has a part of the units of
*all* of them. Each function takes the activations of this rank's examples through the split layers,
together with those of the others, and returns their slopes. A batch is computed in one go, or in P
smaller ones, one after the other; the gradient is their sum.

Krizhevsky calls them (a), (b) and (c).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from course_lib.collectives import broadcast_flat, reduce_flat
from course_lib.comm.communicator import Communicator
from course_lib.split.exchange import gather_parts, sum_parts
from course_lib.words.split import split_evenly

__all__ = ["JOINS", "Through", "all_at_once", "by_slices", "by_turns"]

Array = NDArray[Any]

Through = Callable[[Array, NDArray[np.int64]], Array]
"""Takes examples, given their activations and numbers, through the split layers and back; returns
what this rank's units say of the activations."""


def all_at_once(comm: Communicator, x: Array, parts: Sequence[slice], through: Through) -> Array:
    """Put the examples of all ranks together into one large batch, and compute it.

    Nothing can be computed before everything has arrived, and all of it is held at once.

    Parameters
    ----------
    comm : Communicator
        The ranks among which the layers are split; all of them must call.
    x : numpy.ndarray, shape (m_own, ...)
        The activations of this rank's examples.
    parts : sequence of slice
        The examples of each rank, by their numbers in the batch.
    through : callable
        Takes examples through the split layers and back.

    Returns
    -------
    numpy.ndarray, shape of ``x``
        The slope of the loss in ``x``.

    Notes
    -----
    Cost: one gathering of x and one sum of its slopes: 2(P-1) messages and 2(P-1) x bytes sent by
    each rank. Beside it what ``through`` costs.
    """
    batch = gather_parts(comm, x, parts, dim=0)
    return sum_parts(comm, through(batch, np.arange(len(batch))), parts, dim=0)


def by_turns(comm: Communicator, x: Array, parts: Sequence[slice], through: Through) -> Array:
    """Let the ranks take turns: one sends its examples to all, and all compute those.

    While they do, the next one is sending, and the one before gets its slopes back. But it is one
    NIC that sends to all others, and one that receives from all.

    Parameters
    ----------
    comm : Communicator
        The ranks among which the layers are split; all of them must call.
    x : numpy.ndarray, shape (m_own, ...)
        The activations of this rank's examples.
    parts : sequence of slice
        The examples of each rank, by their numbers in the batch.
    through : callable
        Takes examples through the split layers and back.

    Returns
    -------
    numpy.ndarray, shape of ``x``
        The slope of the loss in ``x``.

    Notes
    -----
    Cost: P broadcasts and P reductions, from and to each rank in its turn: 2(P-1) messages and
    2(P-1) x bytes sent by each rank. Beside it P times what ``through`` costs for so many examples
    fewer. All but the first broadcast and the last reduction hide, if computing takes as long.
    """
    returning = []
    arriving = comm.start(broadcast_flat, x if comm.rank == 0 else None, 0)
    for turn, part in enumerate(parts):
        theirs = arriving.wait()
        if turn + 1 < comm.size:  # on its way while these are computed
            sent = x if comm.rank == turn + 1 else None
            arriving = comm.start(broadcast_flat, sent, turn + 1)
        dx_partial = through(theirs, np.arange(part.start, part.stop))
        returning.append(comm.start(reduce_flat, dx_partial, turn))
    totals = [slopes.wait() for slopes in returning]  # each on the rank whose turn it was
    return np.asarray(totals[comm.rank])


def by_slices(comm: Communicator, x: Array, parts: Sequence[slice], through: Through) -> Array:
    """Let every rank send a slice of its examples in each turn: all NICs are busy all the time.

    As many examples as in ``by_turns`` are computed in a turn, and while they are, the next slices
    are on their way, and the slopes of those before.

    Parameters
    ----------
    comm : Communicator
        The ranks among which the layers are split; all of them must call.
    x : numpy.ndarray, shape (m_own, ...)
        The activations of this rank's examples.
    parts : sequence of slice
        The examples of each rank, by their numbers in the batch.
    through : callable
        Takes examples through the split layers and back.

    Returns
    -------
    numpy.ndarray, shape of ``x``
        The slope of the loss in ``x``.

    Notes
    -----
    Cost: P gatherings and P sums of a P-th of x: 2 P (P-1) messages and 2(P-1) x bytes sent by each
    rank. Beside it P times what ``through`` costs for so many examples fewer.
    """
    returning = []
    slices = [split_evenly(part.stop - part.start, comm.size) for part in parts]
    own = slices[comm.rank]
    arriving = comm.start(gather_parts, x[own[0]], _in_a_row(slices, 0), 0)
    for turn in range(comm.size):
        theirs = arriving.wait()
        if turn + 1 < comm.size:
            arriving = comm.start(gather_parts, x[own[turn + 1]], _in_a_row(slices, turn + 1), 0)
        numbers = [
            np.arange(part.start + cut[turn].start, part.start + cut[turn].stop)
            for part, cut in zip(parts, slices, strict=True)
        ]
        dx_partial = through(theirs, np.concatenate(numbers))
        returning.append(comm.start(sum_parts, dx_partial, _in_a_row(slices, turn), 0))
    return np.concatenate([slopes.wait() for slopes in returning])


def _in_a_row(slices: Sequence[Sequence[slice]], turn: int) -> list[slice]:
    """Say where the slices of a turn lie when they are put one after another."""
    found, start = [], 0
    for cut in slices:
        stop = start + cut[turn].stop - cut[turn].start
        found.append(slice(start, stop))
        start = stop
    return found


JOINS: dict[str, Callable[..., Array]] = {
    "all_at_once": all_at_once,
    "by_turns": by_turns,
    "by_slices": by_slices,
}
"""In the order of the paper, section 4: (a), (b), (c)."""
