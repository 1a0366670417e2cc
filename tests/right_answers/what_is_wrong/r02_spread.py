import numpy as np


def what_is_wrong(weights, rows):
    spread = np.ptp(weights, axis=1).max(axis=1)
    if spread[0] > 0:
        return "no broadcast"
    if spread.max() > 0:
        return "no all-reduce"
    return "other shuffles" if np.bincount(rows.ravel()).max() > 1 else "fine"
