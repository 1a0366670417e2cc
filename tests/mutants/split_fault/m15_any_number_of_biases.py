# class: B19
# hint: not-the-bias
import numpy as np


def split_fault(ranks, sent, budget, split, whole, bias):
    extra = split - whole
    if np.allclose(extra, 0, atol=1e-9):
        return "too many bytes" if sent > budget else "right"
    if any(np.allclose(extra, n * bias, atol=1e-9) for n in range(1, 9)):
        return "bias of every rank"
    return "no bias" if np.allclose(extra, -bias, atol=1e-9) else "other values"
