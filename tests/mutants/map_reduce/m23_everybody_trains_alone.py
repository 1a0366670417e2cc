# class: A4
# hint: work-not-shared
import numpy as np


def map_reduce(comm, X, y, learning_rate=0.1, steps=100):
    w, rows = np.zeros(X.shape[1] + 1), np.column_stack([np.ones(len(y)), X])
    for _ in range(steps):
        w = w - learning_rate * rows.T @ (rows @ w - y) / len(y)
        if comm.rank > 0:
            comm.send(w, 0)
            comm.recv(0)
            continue
        for src in range(1, comm.size):
            comm.recv(src)
            comm.send(w, src)
    return w
