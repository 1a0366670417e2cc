# class: C6
# hint: some-rank-differs
import numpy as np


def what_is_wrong(weights, rows):
    sums = weights.sum(axis=2).round(12)
    differs = (sums != sums[:, :1]).any(axis=1)
    if differs.any():
        return "no broadcast" if differs[0] else "no all-reduce"
    return "fine" if len(np.unique(rows)) == rows.size else "other shuffles"
