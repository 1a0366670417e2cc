# class: A1
# hint: unused-argument
import numpy as np


def partial_sums(w, X_local, y_local):
    return np.zeros_like(w)
