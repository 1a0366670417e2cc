# class: B10
# hint: largest-part
import numpy as np


def mean_of_shards(means, n_rows):
    return means[np.argmax(n_rows)].copy()
