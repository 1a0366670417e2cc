import numpy as np


def microbatch_step(gradient, w, X, y, microbatches, learning_rate):
    rows = np.array_split(np.arange(len(y)), microbatches)
    grads = [gradient(w, X[part], y[part]) for part in rows]
    return w - learning_rate * np.average(grads, axis=0, weights=[len(part) for part in rows])
