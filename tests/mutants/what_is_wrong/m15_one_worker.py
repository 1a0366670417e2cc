# class: B2
# hint: rows
import numpy as np


def what_is_wrong(weights, rows):
    differs = (weights != weights[:, :1]).any(axis=(1, 2))
    if differs.any():
        return "no broadcast" if differs[0] else "no all-reduce"
    mine = rows[:, 0]
    others = np.unique(rows[:, 1:])
    good = len(np.unique(mine)) == mine.size and not np.isin(mine, others).any()
    return "fine" if good else "other shuffles"
