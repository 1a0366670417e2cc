# class: B3
# hint: divided-by-parts
import numpy as np


def microbatch_step(gradient, w, X, y, microbatches, learning_rate):
    total = np.zeros_like(w)
    parts = zip(np.array_split(X, microbatches), np.array_split(y, microbatches), strict=True)
    for X_part, y_part in parts:
        total += len(y_part) / microbatches * gradient(w, X_part, y_part)
    return w - learning_rate * total
