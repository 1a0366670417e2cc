# class: C6
# hint: not-the-bias
import numpy as np


def split_fault(ranks, sent, budget, split, whole, bias):
    extra = split - whole
    if np.allclose(extra, 0, atol=1e-9):
        return "too many bytes" if sent > budget else "right"
    closest = min(((ranks - 1) * bias, -bias), key=lambda known: np.abs(extra - known).sum())
    return (
        "bias of every rank"
        if closest is not -bias and closest.sum() * bias.sum() > 0
        else "no bias"
    )
