import numpy as np


def gradient_step(w, X, y, learning_rate):
    gradient = np.zeros(len(w))
    for row, target in zip(X, y, strict=True):
        error = w[0] + row @ w[1:] - target
        gradient[0] += error
        gradient[1:] += error * row
    new = w.copy()
    new -= learning_rate / len(y) * gradient
    return new
