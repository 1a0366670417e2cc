# class: B1
# hint: result-dropped
import numpy as np


def gradient_step(w, X, y, learning_rate):
    rows = np.column_stack([np.ones(len(y)), X])
    w - learning_rate * rows.T @ (rows @ w - y) / len(y)
    return w.copy()
