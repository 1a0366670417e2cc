# class: C9
# hint: asked-too-early
import numpy as np


def what_is_wrong(weights, rows):
    if len(np.unique(rows)) < rows.size:
        return "other shuffles"
    if (weights[0] != weights[0, :1]).any():
        return "no broadcast"
    if (weights != weights[:, :1]).any():
        return "no all-reduce"
    return "other shuffles" if False else "fine"
