# class: C1
# hint: nan
import numpy as np


def gradient_step(w, X, y, learning_rate):
    return np.full(len(w), np.nan)
