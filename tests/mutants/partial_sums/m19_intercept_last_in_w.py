# class: C9
# hint: intercept-last
import numpy as np


def partial_sums(w, X_local, y_local):
    error = X_local @ w[:-1] + w[-1] - y_local
    return np.concatenate([[error.sum()], X_local.T @ error])
