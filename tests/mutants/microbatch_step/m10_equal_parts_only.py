# class: B7
# hint: left-over
import numpy as np


def microbatch_step(gradient, w, X, y, microbatches, learning_rate):
    total, each = np.zeros_like(w), len(y) // microbatches
    for m in range(microbatches):
        part = slice(m * each, (m + 1) * each)
        total += gradient(w, X[part], y[part]) / microbatches
    return w - learning_rate * total
