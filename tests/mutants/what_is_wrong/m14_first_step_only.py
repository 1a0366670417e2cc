# class: B5
# hint: rows
import numpy as np


def what_is_wrong(weights, rows):
    differs = (weights != weights[:, :1]).any(axis=(1, 2))
    if differs.any():
        return "no broadcast" if differs[0] else "no all-reduce"
    return "fine" if len(np.unique(rows[0])) == rows[0].size else "other shuffles"
