# class: A1
# hint: wrong-value
import numpy as np


def partial_sums(w, X_local, y_local):
    return np.zeros_like(w)
