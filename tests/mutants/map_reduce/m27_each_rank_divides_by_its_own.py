# class: B3
# hint: divides-by-shard
import numpy as np


def map_reduce(comm, X, y, learning_rate=0.1, steps=100):
    n_rows, n_features = X.shape
    rows = np.column_stack([np.ones(n_rows), X])
    start, stop = comm.rank * n_rows // comm.size, (comm.rank + 1) * n_rows // comm.size
    mine, y_mine = rows[start:stop], y[start:stop]
    w = np.zeros(n_features + 1)
    for _ in range(steps):
        total = mine.T @ (mine @ w - y_mine)
        if comm.rank != 0:
            comm.send(total, 0)
            total = comm.recv(0)
        else:
            for src in range(1, comm.size):
                total += comm.recv(src)
            for dst in range(1, comm.size):
                comm.send(total, dst)
        w = w - learning_rate / len(y_mine) * total
    return w
