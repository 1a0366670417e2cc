# class: B2
# hint: later
import numpy as np


def what_is_wrong(weights, rows):
    if (weights[-1] != weights[-1, :1]).any():
        return "no broadcast"

    return "fine" if len(np.unique(rows)) == rows.size else "other shuffles"
