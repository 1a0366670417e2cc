import numpy as np


def shard_bounds(n_rows, rank, size):
    lengths = np.full(size, n_rows // size)
    lengths[: n_rows % size] += 1
    return np.cumsum(np.concatenate([[0], lengths]))[rank : rank + 2]
