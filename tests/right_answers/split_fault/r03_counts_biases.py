import numpy as np


def split_fault(ranks, sent, budget, split, whole, bias):
    extra, size = split - whole, float(np.sum(bias**2))
    times = float(np.mean(extra @ bias)) / size if size else 0.0
    if not np.allclose(extra, round(times) * bias, atol=1e-8):
        return "other values"
    if round(times) == 0:
        return "right" if sent <= budget else "too many bytes"
    names = {ranks - 1: "bias of every rank", -1: "no bias"}
    return names.get(round(times), "other values")
