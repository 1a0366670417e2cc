import numpy as np


def sgd_epoch(w, order, X, y, batch_size, learning_rate):
    new = w.copy()
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        step = np.zeros(len(w))
        for i in rows:
            error = new[0] + X[i] @ new[1:] - y[i]
            step += error * np.concatenate([[1.0], X[i]]) / len(rows)
        new -= learning_rate * step
    return new
