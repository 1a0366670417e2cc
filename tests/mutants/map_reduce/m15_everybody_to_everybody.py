# class: B15
# hint: all-to-all
import numpy as np


def map_reduce(comm, X, y, learning_rate=0.1, steps=100):
    n_rows, n_features = X.shape
    rows = np.column_stack([np.ones(n_rows), X])
    begin, end = comm.rank * n_rows // comm.size, (comm.rank + 1) * n_rows // comm.size
    w = np.zeros(n_features + 1)
    for _ in range(steps):
        part = rows[begin:end].T @ (rows[begin:end] @ w - y[begin:end])
        parts = {comm.rank: part}
        for step in range(1, comm.size):
            src = (comm.rank - step) % comm.size
            parts[src] = comm.sendrecv(part, (comm.rank + step) % comm.size, src)
        w = w - learning_rate * sum(parts[rank] for rank in range(comm.size)) / n_rows
    return w
