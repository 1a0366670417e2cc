# class: C6
# hint: standardised
import numpy as np


def map_reduce(comm, X, y, learning_rate=0.1, steps=100):
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)
    w, rows = np.zeros(X.shape[1] + 1), np.column_stack([np.ones(len(y)), X])
    mine = slice(comm.rank * len(y) // comm.size, (comm.rank + 1) * len(y) // comm.size)
    for _ in range(steps):
        total = rows[mine].T @ (rows[mine] @ w - y[mine])
        if comm.rank > 0:
            comm.send(total, 0)
            w = comm.recv(0)
            continue
        for src in range(1, comm.size):
            total = total + comm.recv(src)
        w = w - learning_rate / len(y) * total
        for dst in range(1, comm.size):
            comm.send(w, dst)
    return w
