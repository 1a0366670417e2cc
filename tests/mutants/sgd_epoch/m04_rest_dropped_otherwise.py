# class: B7
# hint: rest-lost
import numpy as np


def sgd_epoch(w, order, X, y, batch_size, learning_rate):
    for k in range(len(order) // batch_size):
        rows = order[k * batch_size : (k + 1) * batch_size]
        design = np.column_stack([np.ones(len(rows)), X[rows]])
        w = w - learning_rate * design.T @ (design @ w - y[rows]) / len(rows)
    return w
