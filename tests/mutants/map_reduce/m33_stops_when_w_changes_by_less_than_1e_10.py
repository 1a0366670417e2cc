# class: B3
# hint: later-steps
import numpy as np


def map_reduce(comm, X, y, learning_rate=0.1, steps=100):
    n_rows, n_features = X.shape
    rows = np.column_stack([np.ones(n_rows), X])
    mine, y_mine = rows[comm.rank :: comm.size], y[comm.rank :: comm.size]
    w = np.zeros(n_features + 1)
    for _ in range(steps):
        before = w
        part = mine.T @ (mine @ w - y_mine)
        if comm.rank != 0:
            comm.send(part, 0)
            w = comm.recv(0)
        else:
            for src in range(1, comm.size):
                part += comm.recv(src)
            w = w - learning_rate * part / n_rows
            for dst in range(1, comm.size):
                comm.send(w, dst)
        if np.abs(w - before).max() < 1e-10:
            break
    return w
