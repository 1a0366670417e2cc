# class: A4
# hint: work-not-shared
import numpy as np


def map_reduce(comm, X, y, learning_rate=0.1, steps=100):
    w, rows = np.zeros(X.shape[1] + 1), np.column_stack([np.ones(len(y)), X])
    for _ in range(steps):
        if comm.rank > 0:
            comm.send(np.zeros_like(w), 0)
            w = comm.recv(0)
            continue
        for src in range(1, comm.size):
            comm.recv(src)
        w = w - learning_rate * rows.T @ (rows @ w - y) / len(y)
        for dst in range(1, comm.size):
            comm.send(w, dst)
    return w
