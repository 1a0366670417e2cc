# class: C1
# hint: masked-array
import numpy as np


def mean_of_shards(means, n_rows):
    return np.ma.average(np.ma.masked_invalid(means), axis=0, weights=n_rows)
