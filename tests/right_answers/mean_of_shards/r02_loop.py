import numpy as np


def mean_of_shards(means, n_rows):
    total = np.zeros(means.shape[1])
    for mean, n in zip(means, n_rows, strict=True):
        if n:
            total += n * mean
    return total / sum(n_rows)
