import numpy as np


def predict_rates(n_before, n_after):
    more = np.float64(n_after) / n_before
    values = np.array([1.0, 1 / more, more, 1.0])
    names = ("same_batch_mean", "same_batch_sum", "own_batch_mean", "own_batch_sum")
    return dict(zip(names, values, strict=True))
