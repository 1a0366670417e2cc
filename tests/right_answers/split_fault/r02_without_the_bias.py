import numpy as np


def split_fault(ranks, sent, budget, split, whole, bias):
    inside = whole - bias
    if np.allclose(split, inside + bias):
        return "right" if sent <= budget else "too many bytes"
    if np.allclose(split, inside):
        return "no bias"
    return "bias of every rank" if np.allclose(split, inside + ranks * bias) else "other values"
