import numpy as np


def sgd_epoch(w, order, X, y, batch_size, learning_rate):
    design = np.column_stack([np.ones(len(y)), X])
    for rows in np.split(order, range(batch_size, len(order), batch_size)):
        w = w - learning_rate * np.mean(
            (design[rows] @ w - y[rows])[:, None] * design[rows], axis=0
        )
    return w
