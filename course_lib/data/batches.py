"""Which examples are in which worker's mini-batch: shuffled, shared out, none lost or doubled."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from course_lib.shards import split_evenly

__all__ = ["epoch_batches"]


def epoch_batches(
    n_examples: int, batch_size: int, epoch: int, seed: int = 0, rank: int = 0, size: int = 1
) -> Iterator[NDArray[np.int64]]:
    """Walk through one epoch and give, for every step, this worker's part of the global batch.

    All ranks shuffle alike, so that they agree on every global batch without a message; each takes
    its part of it. The global batches do not depend on how many workers share them, which is what
    makes N workers comparable with one.

    Parameters
    ----------
    n_examples : int
        How many examples there are.
    batch_size : int
        How many examples all workers together take in a step; the last batch may be smaller.
    epoch : int
        Which epoch, from 0; each has its own order.
    seed : int, default: 0
        Of the shuffling; the same on every rank.
    rank, size : int, default: 0 and 1
        This worker's number, and how many there are.

    Yields
    ------
    numpy.ndarray of int
        The numbers of the examples; parts of one batch differ by one example at most and may be
        empty.

    Raises
    ------
    ValueError
        If a number is unusable.

    Notes
    -----
    Invariant: over the steps of an epoch and all ranks, every example comes up exactly once.

    Examples
    --------
    >>> parts = [list(epoch_batches(10, 4, epoch=0, rank=r, size=2)) for r in range(2)]
    >>> [len(part) for part in parts[0]]
    [2, 2, 1]
    >>> sorted(int(i) for worker in parts for part in worker for i in part) == list(range(10))
    True
    """
    if n_examples < 0:
        raise ValueError(f"n_examples must be 0 or more, got {n_examples}")
    if batch_size < 1:
        raise ValueError(f"batch_size must be 1 or more, got {batch_size}")
    if epoch < 0:
        raise ValueError(f"epoch must be 0 or more, got {epoch}")
    if not 0 <= rank < size:
        raise ValueError(f"rank must be from 0 to size - 1, got rank {rank} of size {size}")
    order = np.random.default_rng([seed, epoch]).permutation(n_examples)
    for start in range(0, n_examples, batch_size):
        batch = order[start : start + batch_size]
        yield batch[split_evenly(len(batch), size)[rank]]
