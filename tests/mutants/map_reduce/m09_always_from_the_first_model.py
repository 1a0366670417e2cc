# class: B11
# hint: stale
import numpy as np


def map_reduce(comm, X, y, learning_rate=0.1, steps=100):
    n_rows, n_features = X.shape
    rows = np.column_stack([np.ones(n_rows), X])
    start, stop = comm.rank * n_rows // comm.size, (comm.rank + 1) * n_rows // comm.size
    mine, y_mine = rows[start:stop], y[start:stop]
    w = np.zeros(n_features + 1)
    part = mine.T @ (mine @ w - y_mine)
    for _ in range(steps):
        if comm.rank != 0:
            comm.send(part, 0)
            w = comm.recv(0)
        else:
            total = part.copy()
            for src in range(1, comm.size):
                total += comm.recv(src)
            w = w - learning_rate * total / n_rows
            for dst in range(1, comm.size):
                comm.send(w, dst)
    return w
