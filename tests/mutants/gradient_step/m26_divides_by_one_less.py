# class: B3
# hint: sample
import numpy as np


def gradient_step(w, X, y, learning_rate):
    rows = np.column_stack([np.ones(len(y)), X])
    error = rows @ w - y
    return w - learning_rate * rows.T @ error / max(1, len(y) - 1)
