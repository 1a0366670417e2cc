# class: B4
# hint: some-rank-differs
import numpy as np


def what_is_wrong(weights, rows):
    differs = (weights[:-1] != weights[:-1, :1]).any(axis=(1, 2))
    if differs.any():
        return "no broadcast" if differs[0] else "no all-reduce"
    return "fine" if len(np.unique(rows)) == rows.size else "other shuffles"
