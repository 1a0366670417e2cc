# class: C1
# hint: hides-nan
import numpy as np


def mean_of_shards(means, n_rows):
    there = ~np.isnan(means).all(axis=1)
    weights = n_rows[there]
    return (means[there] * weights[:, None]).sum(axis=0) / weights.sum()
