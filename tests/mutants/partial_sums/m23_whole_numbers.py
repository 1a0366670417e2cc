# class: C3
# hint: whole-numbers
import numpy as np


def partial_sums(w, X_local, y_local):
    total = np.zeros(len(w), dtype=int)
    for row, target in zip(X_local, y_local, strict=True):
        total[:] = total + np.concatenate([[1.0], row]) * (w[0] + row @ w[1:] - target)
    return total.astype(float)
