# class: B5
# hint: looks-at-bytes-only
import numpy as np


def split_fault(ranks, sent, budget, split, whole, bias):
    if sent > budget:
        return "too many bytes"
    if np.allclose(split, whole):
        return "right"
    if np.allclose(split - whole, (ranks - 1) * bias):
        return "bias of every rank"
    return "no bias" if np.allclose(split - whole, -bias) else "other values"
