# class: B17
# hint: misplaced-parenthesis
import numpy as np


def partial_sums(w, X_local, y_local):
    rows = np.column_stack([np.ones(len(X_local)), X_local])
    return rows.T @ (w[0] + (X_local - y_local[:, None]) @ w[1:])
