# class: B10
# hint: wrong-value
import numpy as np


def sgd_epoch(w, order, X, y, batch_size, learning_rate):
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size + 1]
        design = np.column_stack([np.ones(len(rows)), X[rows]])
        w = w - learning_rate * design.T @ (design @ w - y[rows]) / len(rows)
    return w
