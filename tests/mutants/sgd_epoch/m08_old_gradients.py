# class: B11
# hint: old-gradients
import numpy as np


def sgd_epoch(w, order, X, y, batch_size, learning_rate):
    new = w.copy()
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        design = np.column_stack([np.ones(len(rows)), X[rows]])
        new -= learning_rate * design.T @ (design @ w - y[rows]) / len(rows)
    return new
