import numpy as np


def partial_sums(w, X_local, y_local):
    total = np.zeros(len(w))
    for x, y in zip(X_local, y_local, strict=True):
        error = w[0] + (x * w[1:]).sum() - y
        total[0] += error
        total[1:] += error * x
    return total
