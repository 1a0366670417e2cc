# class: C1
# hint: how-many-biases
import numpy as np


def split_fault(ranks, sent, budget, split, whole, bias):
    extra = split - whole
    if np.allclose(extra, 0, atol=1e-9):
        return "too many bytes" if sent > budget else "right"
    with np.errstate(all="ignore"):
        times = extra / bias
    if np.allclose(times, ranks - 1):
        return "bias of every rank"
    return "no bias" if np.allclose(times, -1) else "other values"
