# class: C2
# hint: shape
import numpy as np


def mean_of_shards(means, n_rows):
    return np.average(means, weights=np.repeat(n_rows[:, None], means.shape[1], axis=1))
