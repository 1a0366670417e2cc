# class: B3
# hint: divides-by-size
import numpy as np


def gradient_step(w, X, y, learning_rate):
    rows = np.column_stack([np.ones(len(y)), X])
    error = rows @ w - y
    return w - learning_rate * rows.T @ error / X.size
