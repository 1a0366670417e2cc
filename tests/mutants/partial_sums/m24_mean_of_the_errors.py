# class: B3
# hint: intercept-mean
import numpy as np


def partial_sums(w, X_local, y_local):
    error = w[0] + X_local @ w[1:] - y_local
    return np.concatenate([[error.sum() / max(1, len(error))], X_local.T @ error])
