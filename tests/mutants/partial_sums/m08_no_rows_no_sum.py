# class: B7
# hint: no-rows
import numpy as np


def partial_sums(w, X_local, y_local):
    if len(y_local) == 0:
        return np.zeros(0)
    rows = np.column_stack([np.ones(len(X_local)), X_local])
    return rows.T @ (rows @ w - y_local)
