# class: B7
# hint: last-part-missing
import numpy as np


def microbatch_step(gradient, w, X, y, microbatches, learning_rate):
    total = np.zeros_like(w)
    parts = list(zip(np.array_split(X, microbatches), np.array_split(y, microbatches)))[
        : max(1, microbatches - 1)
    ]
    for X_part, y_part in parts:
        total += len(y_part) / len(y) * gradient(w, X_part, y_part)
    return w - learning_rate * total
