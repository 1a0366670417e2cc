"""Reading arrays of marked numbers: which contributions to which places of the vector they hold.

The same array is known from several runs. In some, every contribution of a rank is its fingerprint
(``course_lib.trace.fingerprint``), from which the ranks in a sum are read. In one, it is its place
in the vector plus 1, so that a sum of k contributions to place j is k (j + 1).
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from course_lib.trace.contributions import Counts
from course_lib.trace.fingerprint import weight

__all__ = ["Piece", "marks", "ranks_a_run", "read"]

_EXACT = 2.0**53  # up to here float64 holds every whole number


class Piece(NamedTuple):
    """Neighbouring places ``start`` to ``stop`` of the vector with the same contributions."""

    start: int
    stop: int
    counts: Counts


def ranks_a_run(size: int) -> int:
    """Say how many ranks' fingerprints one run can hold exactly: all up to 13, 8 of 64."""
    n_ranks = 1
    while n_ranks < size and weight(n_ranks + 1, size) <= _EXACT:
        n_ranks += 1
    return n_ranks


def marks(size: int, rank: int, places: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    """Make the inputs of one rank for all runs.

    Parameters
    ----------
    size : int
        How many ranks there are.
    rank : int
        Whose inputs.
    places : numpy.ndarray of int
        The places of the vector that this rank contributes to.

    Returns
    -------
    list of numpy.ndarray
        Its fingerprints: ``weight`` in the run in which it has its turn, else 0; last, the places
        plus 1.
    """
    group = ranks_a_run(size)
    turn, digit = divmod(rank, group)
    n_turns = -(-size // group)
    inputs = [
        np.full(len(places), float(weight(digit, size)) if k == turn else 0.0)
        for k in range(n_turns)
    ]
    return [*inputs, places + 1.0]


def read(runs: Sequence[Any], size: int, n: int) -> list[Piece]:
    """Read one array, as it was in every run.

    Parameters
    ----------
    runs : sequence of array
        The array in each of the runs that ``marks`` made inputs for.
    size : int
        How many ranks there are.
    n : int
        The length of the vector.

    Returns
    -------
    list of Piece
        In the order of the array; places that hold nothing are left out. Numbers that are no sum of
        whole contributions are a piece whose ``counts`` is None; where its place is unknown too, it
        stands for the whole vector.
    """
    arrays = [np.asarray(array, dtype=np.float64).reshape(-1) for array in runs]
    if len({len(array) for array in arrays}) > 1:
        return [Piece(0, n, None)]
    if not len(arrays[0]):
        return []
    changes = np.any([np.diff(array) != 0 for array in arrays[:-1]], axis=0)
    bounds = np.array([0, *(np.flatnonzero(changes) + 1), len(arrays[0])])
    counts = _digits([array[bounds[:-1]] for array in arrays[:-1]], size)
    kinds = np.repeat(np.arange(len(counts)), np.diff(bounds))  # which row of counts, by element
    with np.errstate(divide="ignore", invalid="ignore"):
        places = arrays[-1] / counts.sum(axis=1)[kinds] - 1
    sound = np.min(counts, axis=1)[kinds] >= 0
    known = sound & (places >= 0) & (places < n) & (places % 1 == 0)
    nothing = np.all([array == 0 for array in arrays], axis=0)
    if not np.all(known | nothing):
        return [Piece(0, n, None)]
    return _pieces(np.where(known, places, -2).astype(np.int64), kinds, counts)


def _digits(arrays: list[NDArray[np.float64]], size: int) -> NDArray[np.int64]:
    """Read how often each rank was counted in each element; -1 where nobody can tell."""
    group, base = ranks_a_run(size), size + 1
    sums = np.stack(arrays)
    sound = (sums >= 0) & (sums < min(float(base**group), _EXACT)) & (sums % 1 == 0)
    whole = np.where(sound, sums, 0).astype(np.int64)
    digits = whole[:, None] // base ** np.arange(group)[:, None] % base
    counts = np.where(sound[:, None], digits, -1)  # by run, by rank of its group, by element
    return counts.reshape(-1, sums.shape[1])[:size].T


def _pieces(
    places: NDArray[np.int64], kinds: NDArray[np.int64], counts: NDArray[np.int64]
) -> list[Piece]:
    breaks = (np.diff(places) != 1) | (np.diff(kinds) != 0)
    bounds = [0, *(np.flatnonzero(breaks) + 1).tolist(), len(places)]
    return [
        Piece(int(places[a]), int(places[b - 1]) + 1, tuple(counts[kinds[a]].tolist()))
        for a, b in pairwise(bounds)
        if places[a] >= 0
    ]
