# class: B12
# hint: changes-input
import numpy as np


def partial_sums(w, X_local, y_local):
    X_local[:, 0] = 1
    error = X_local @ w[1:] - y_local
    return np.concatenate([[error.sum()], X_local.T @ error])
