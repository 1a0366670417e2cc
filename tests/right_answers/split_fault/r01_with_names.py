import numpy as np


def split_fault(ranks, sent, budget, split, whole, bias):
    known = {"right": 0 * bias, "bias of every rank": (ranks - 1) * bias, "no bias": -bias}
    for name, extra in known.items():
        if np.abs(split - whole - extra).max() < 1e-8:
            return "too many bytes" if name == "right" and sent > budget else name
    return "other values"
