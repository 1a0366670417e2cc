# class: B8
# hint: false-alarm
import numpy as np


def what_is_wrong(weights, rows):
    if (weights[:, 0] != weights[0, 0]).any():
        return "no broadcast"

    return "fine" if len(np.unique(rows)) == rows.size else "other shuffles"
