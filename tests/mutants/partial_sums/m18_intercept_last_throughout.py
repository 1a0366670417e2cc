# class: C9
# hint: intercept-last
import numpy as np


def partial_sums(w, X_local, y_local):
    rows = np.column_stack([X_local, np.ones(len(X_local))])
    return rows.T @ (rows @ w - y_local)
