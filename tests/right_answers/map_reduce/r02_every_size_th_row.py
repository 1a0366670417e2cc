import numpy as np


def gradient_sum(w, X, y):
    error = w[0] + X @ w[1:] - y
    return np.r_[error.sum(), error @ X]


def map_reduce(comm, X, y, learning_rate=0.1, steps=100):
    w = np.zeros(X.shape[1] + 1)
    X_local, y_local = X[comm.rank :: comm.size], y[comm.rank :: comm.size]
    for _ in range(steps):
        part = gradient_sum(w, X_local, y_local)
        if comm.rank:
            comm.send(part, 0)
        else:
            for _ in range(comm.size - 1):
                part = part + comm.recv_any()[1]
            w = w - (learning_rate / len(y)) * part
        for dst in range(1, comm.size) if comm.rank == 0 else ():
            comm.send(w, dst)
        if comm.rank:
            w = comm.recv(0)
    return w
