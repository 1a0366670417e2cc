# class: C2
# hint: flattened
import numpy as np


def partial_sums(w, X_local, y_local):
    rows = np.insert(X_local, 0, 1)
    return rows.T @ (rows @ w - y_local)
