# class: B1
# hint: some-rank-differs
import numpy as np


def what_is_wrong(weights, rows):
    first = weights[:, :, 0]
    if (first[0] != first[0, 0]).any():
        return "no broadcast"
    if (first != first[:, :1]).any():
        return "no all-reduce"

    return "fine" if len(np.unique(rows)) == rows.size else "other shuffles"
