# class: B8
# hint: before-the-first-step
import numpy as np


def what_is_wrong(weights, rows):
    if (weights != weights[:, :1]).any():
        return "no all-reduce"

    return "fine" if len(np.unique(rows)) == rows.size else "other shuffles"
