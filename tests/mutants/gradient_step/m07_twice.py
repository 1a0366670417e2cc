# class: B3
# hint: factor-2
import numpy as np


def gradient_step(w, X, y, learning_rate):
    design = np.column_stack([np.ones(len(y)), X])
    return w - learning_rate * 2 * design.T @ (design @ w - y) / len(y)
