# class: B3
# hint: no-learning-rate
import numpy as np


def gradient_step(w, X, y, learning_rate):
    design = np.column_stack([np.ones(len(y)), X])
    return w - design.T @ (design @ w - y) / len(y)
