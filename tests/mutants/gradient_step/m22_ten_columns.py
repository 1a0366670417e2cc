# class: B5
# hint: broadcast
import numpy as np


def gradient_step(w, X, y, learning_rate):
    X = X[:, :10]
    error = w[0] + X @ w[1:11] - y
    return w - learning_rate * np.concatenate([[error.mean()], X.T @ error / len(y)])
