# class: B15
# hint: budget-allowed
import numpy as np


def split_fault(ranks, sent, budget, split, whole, bias):
    extra = split - whole
    if np.allclose(extra, 0, atol=1e-9):
        return "too many bytes" if sent != budget else "right"
    if np.allclose(extra, (ranks - 1) * bias, atol=1e-9):
        return "bias of every rank"
    return "no bias" if np.allclose(extra, -bias, atol=1e-9) else "other values"
