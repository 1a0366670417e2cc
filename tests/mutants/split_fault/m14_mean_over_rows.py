# class: B5
# hint: one-number-only
import numpy as np


def split_fault(ranks, sent, budget, split, whole, bias):
    difference = (split - whole).mean(axis=0)
    if np.allclose(difference, 0):
        return "too many bytes" if sent > budget else "right"
    if np.allclose(difference, (ranks - 1) * bias):
        return "bias of every rank"
    return "no bias" if np.allclose(difference, -bias) else "other values"
