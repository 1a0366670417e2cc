# class: B11
# hint: other-weights
import numpy as np


def microbatch_step(gradient, w, X, y, microbatches, learning_rate):
    parts = zip(np.array_split(X, microbatches), np.array_split(y, microbatches), strict=True)
    for X_part, y_part in parts:
        w = w - learning_rate * len(y_part) / len(y) * gradient(w, X_part, y_part)
    return w
