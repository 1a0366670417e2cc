# class: C6
# hint: climbs
import numpy as np


def gradient_step(w, X, y, learning_rate):
    design = np.column_stack([np.ones(len(y)), X])
    return w + learning_rate * design.T @ (design @ w - y) / len(y)
