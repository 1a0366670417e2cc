import numpy as np


def map_reduce(comm, X, y, learning_rate=0.1, steps=100):
    n_rows = len(y)
    first, end = comm.rank * n_rows // comm.size, (comm.rank + 1) * n_rows // comm.size
    w = np.zeros(X.shape[1] + 1)
    for _ in range(steps):
        total = np.zeros_like(w)
        for row in range(first, end):
            error = w[0] + X[row] @ w[1:] - y[row]
            total += error * np.concatenate([[1.0], X[row]])
        if comm.rank > 0:
            comm.recv(comm.rank - 1, out=total, op="sum")
        if comm.rank < comm.size - 1:
            comm.send(total, comm.rank + 1)
            w = comm.recv(comm.rank + 1)
        else:
            w = w - learning_rate / n_rows * total
        if comm.rank > 0:
            comm.send(w, comm.rank - 1)
    return w
