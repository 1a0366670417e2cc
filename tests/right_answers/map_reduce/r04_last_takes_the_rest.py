import numpy as np


def map_reduce(comm, X, y, learning_rate=0.1, steps=100):
    share, w = len(y) // comm.size, np.zeros(X.shape[1] + 1)
    start = comm.rank * share
    stop = len(y) if comm.rank == comm.size - 1 else start + share
    rows = np.hstack([np.ones((len(y), 1)), X])[start:stop]
    for _ in range(steps):
        part = (rows @ w - y[start:stop]) @ rows
        if comm.rank:
            comm.send(part, 0)
            w = comm.recv(0)
        else:
            total = part
            for _ in range(comm.size - 1):
                total = total + comm.recv_any()[1]
            w = w - learning_rate / len(y) * total
            for dst in range(1, comm.size):
                comm.send(w, dst)
    return w
