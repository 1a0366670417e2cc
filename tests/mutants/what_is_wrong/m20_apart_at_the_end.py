# class: B11
# hint: some-rank-differs
import numpy as np


def what_is_wrong(weights, rows):
    numbers = rows.ravel()
    if (weights[0] != weights[0, :1]).any():
        return "no broadcast"
    if (weights[-1] != weights[-1, :1]).any():
        return "no all-reduce"
    return "other shuffles" if len(np.unique(numbers)) < numbers.size else "fine"
