import numpy as np


def gradient_step(w, X, y, learning_rate):
    error = X @ w[1:] + w[0] - y
    new = np.empty_like(w)
    new[0] = w[0] - learning_rate * np.mean(error)
    new[1:] = w[1:] - learning_rate * np.mean(error[:, None] * X, axis=0)
    return new
