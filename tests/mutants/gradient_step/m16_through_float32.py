# class: C4
# hint: precision
import numpy as np


def gradient_step(w, X, y, learning_rate):
    design = np.column_stack([np.ones(len(y)), X]).astype("f4")
    return w - learning_rate * design.T @ (design @ w - y) / len(y)
