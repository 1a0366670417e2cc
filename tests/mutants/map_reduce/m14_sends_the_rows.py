# class: B15
# hint: too-many-bytes
import numpy as np


def map_reduce(comm, X, y, learning_rate=0.1, steps=100):
    n_rows, n_features = X.shape
    rows = np.column_stack([np.ones(n_rows), X, y])
    start, stop = comm.rank * n_rows // comm.size, (comm.rank + 1) * n_rows // comm.size
    w = np.zeros(n_features + 1)
    for _ in range(steps):
        if comm.rank != 0:
            comm.send(rows[start:stop], 0)
            w = comm.recv(0)
        else:
            table = [rows[start:stop], *(comm.recv(src) for src in range(1, comm.size))]
            table = np.concatenate(table)
            error = table[:, :-1] @ w - table[:, -1]
            w = w - learning_rate * table[:, :-1].T @ error / n_rows
            for dst in range(1, comm.size):
                comm.send(w, dst)
    return w
