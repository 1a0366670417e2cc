import numpy as np


def cheapest_grid(ranks, width, examples):
    splits = np.array([k for k in range(1, ranks + 1) if ranks % k == 0])
    replicas = ranks // splits
    gradients = 2 * (replicas - 1) / replicas * 16 * (width**2 + width) / splits
    activations = 6 * (splits - 1) / splits * 4 * examples / replicas * width
    n_bytes = gradients + activations
    best = int(np.argmin(n_bytes))
    return {"splits": int(splits[best]), "n_bytes": float(n_bytes[best])}
