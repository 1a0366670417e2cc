# class: B12
# hint: changes-input
import numpy as np


def gradient_step(w, X, y, learning_rate):
    design = np.column_stack([np.ones(len(y)), X])
    w -= learning_rate * design.T @ (design @ w - y) / len(y)
    return w
