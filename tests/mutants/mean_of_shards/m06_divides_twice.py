# class: B3
# hint: divides-twice
import numpy as np


def mean_of_shards(means, n_rows):
    weights = n_rows / n_rows.sum()
    return np.mean(weights[:, None] * means, axis=0)
