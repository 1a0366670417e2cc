# class: B3
# hint: mean-of-means
import numpy as np


def map_reduce(comm, X, y, learning_rate=0.1, steps=100):
    n_rows, n_features = X.shape
    rows = np.column_stack([np.ones(n_rows), X])
    start, stop = comm.rank * n_rows // comm.size, (comm.rank + 1) * n_rows // comm.size
    mine, y_mine = rows[start:stop], y[start:stop]
    w = np.zeros(n_features + 1)
    for _ in range(steps):
        part = mine.T @ (mine @ w - y_mine) / max(1, len(y_mine))
        if comm.rank != 0:
            comm.send(part, 0)
            w = comm.recv(0)
        else:
            for src in range(1, comm.size):
                part += comm.recv(src)
            w = w - learning_rate * part / comm.size
            for dst in range(1, comm.size):
                comm.send(w, dst)
    return w
