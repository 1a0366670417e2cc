"""Mini-batches of an epoch: the examples in a new order, none lost, none twice."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["epoch_batches"]


def epoch_batches(
    n_examples: int, batch_size: int, epoch: int, seed: int = 0
) -> Iterator[NDArray[np.int64]]:
    """Walk through one epoch, a batch at a time.

    The order depends on the seed and the epoch alone. So all workers agree on every batch without a
    message, and N workers can be compared with one: they partition the same batches.

    Parameters
    ----------
    n_examples : int
        How many examples there are.
    batch_size : int
        How many to take in a step; the last batch may be smaller.
    epoch : int
        Which epoch, from 0; each has its own order.
    seed : int, default: 0
        Of the shuffling.

    Yields
    ------
    numpy.ndarray of int
        The numbers of the examples.

    Raises
    ------
    ValueError
        If a number is unusable.

    Examples
    --------
    >>> batches = list(epoch_batches(10, 4, epoch=0))
    >>> [len(batch) for batch in batches]
    [4, 4, 2]
    >>> sorted(int(i) for batch in batches for i in batch) == list(range(10))
    True
    """
    if n_examples < 0:
        raise ValueError(f"n_examples must be 0 or more, got {n_examples}")
    if batch_size < 1:
        raise ValueError(f"batch_size must be 1 or more, got {batch_size}")
    if epoch < 0:
        raise ValueError(f"epoch must be 0 or more, got {epoch}")
    order = np.random.default_rng([seed, epoch]).permutation(n_examples)
    for start in range(0, n_examples, batch_size):
        yield order[start : start + batch_size]
