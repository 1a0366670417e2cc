# class: B9
# hint: targets-apart
import numpy as np


def sgd_epoch(w, order, X, y, batch_size, learning_rate):
    X = X[order]
    for start in range(0, len(order), batch_size):
        rows = slice(start, start + batch_size)
        design = np.column_stack([np.ones(len(X[rows])), X[rows]])
        w = w - learning_rate * design.T @ (design @ w - y[rows]) / len(design)
    return w
