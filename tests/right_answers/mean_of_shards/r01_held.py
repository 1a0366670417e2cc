import numpy as np


def mean_of_shards(means, n_rows):
    held = n_rows > 0
    return np.average(means[held], axis=0, weights=n_rows[held])
