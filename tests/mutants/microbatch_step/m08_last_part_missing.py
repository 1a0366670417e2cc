# class: B7
# hint: last-part-missing
import numpy as np


def microbatch_step(gradient, w, X, y, microbatches, learning_rate):
    total = np.zeros_like(w)
    parts = np.array_split(np.arange(len(y)), microbatches)
    for part in parts[: max(1, microbatches - 1)]:
        total += len(part) / len(y) * gradient(w, X[part], y[part])
    return w - learning_rate * total
