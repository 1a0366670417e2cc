# class: B10
# hint: some-rank-differs
import numpy as np


def what_is_wrong(weights, rows):
    if (weights[0] != weights[0, :1]).any():
        return "no broadcast"
    if (weights[:, :, -1] != weights[:, :1, -1]).any():
        return "no all-reduce"
    return "fine" if len(np.unique(rows)) == rows.size else "other shuffles"
