# class: C1
# hint: hides-nan
import numpy as np


def mean_of_shards(means, n_rows):
    weights = n_rows / n_rows.sum()
    return (weights[:, None] * np.nan_to_num(means)).sum(axis=0)
