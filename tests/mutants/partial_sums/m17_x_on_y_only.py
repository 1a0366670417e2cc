# class: B17
# hint: x-on-y-only
import numpy as np


def partial_sums(w, X_local, y_local):
    rows = np.column_stack([np.ones(len(X_local)), X_local])
    prediction = rows @ w
    return np.array([np.sum(prediction - y_local * rows[:, j]) for j in range(len(w))])
