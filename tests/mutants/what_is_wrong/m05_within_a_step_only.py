# class: B17
# hint: rows
import numpy as np


def what_is_wrong(weights, rows):
    if (weights[0] != weights[0, 0]).any():
        return "no broadcast"
    if (weights != weights[:, :1]).any():
        return "no all-reduce"
    twice = any(len(np.unique(taken[0])) < taken[0].size for taken in rows)
    return "other shuffles" if twice else "fine"
