# class: C6
# hint: false-alarm
import numpy as np


def what_is_wrong(weights, rows):
    numbers = np.sort(rows.ravel())
    if (weights[0] != weights[0, :1]).any():
        return "no broadcast"
    if (weights != weights[:, :1]).any():
        return "no all-reduce"
    return "other shuffles" if (numbers != np.arange(numbers.size)).any() else "fine"
