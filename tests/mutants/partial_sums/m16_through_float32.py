# class: C4
# hint: precision
import numpy as np


def partial_sums(w, X_local, y_local):
    rows = np.column_stack([np.ones(len(X_local)), X_local]).astype(np.float32)
    return (rows.T @ (rows @ w.astype(np.float32) - y_local.astype(np.float32))).astype(float)
