import numpy as np


def microbatch_step(gradient, w, X, y, microbatches, learning_rate):
    step, each = np.zeros(len(w)), -(-len(y) // microbatches)
    for start in range(0, len(y), each):
        rows = slice(start, start + each)
        step += gradient(w, X[rows], y[rows]) * len(y[rows])
    return w - learning_rate * step / len(y)
