# class: C9
# hint: intercept-last
import numpy as np


def partial_sums(w, X_local, y_local):
    error = w[0] + X_local @ w[1:] - y_local
    return np.concatenate([X_local.T @ error, [error.sum()]])
