# class: A4
# hint: no-messages
import numpy as np


def map_reduce(comm, X, y, learning_rate=0.1, steps=100):
    rows = np.column_stack([np.ones(len(X)), X])
    w = np.zeros(rows.shape[1])
    for _ in range(steps):
        w = w - learning_rate * rows.T @ (rows @ w - y) / len(y)
    return w
