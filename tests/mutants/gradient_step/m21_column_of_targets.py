# class: C2
# hint: shape
import numpy as np


def gradient_step(w, X, y, learning_rate):
    rows = np.column_stack([np.ones(len(y)), X])
    return w - learning_rate * rows.T @ (rows @ w[:, None] - y[:, None]) / len(y)
