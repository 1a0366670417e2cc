import numpy as np


def asynchronous_server(comm, w, gradient, learning_rate, steps):
    if comm.rank:
        parameters = comm.recv(0)
        for _ in range(steps):
            comm.send(gradient(parameters), 0)
            parameters = comm.recv(0)
        return np.array(parameters)
    kept, n_pushes = np.array(w), np.zeros(comm.size, dtype=int)
    for dst in range(1, comm.size):
        comm.send(kept, dst)
    while n_pushes.sum() < steps * (comm.size - 1):
        src, grad = comm.recv_any()
        n_pushes[src] += 1
        np.subtract(kept, learning_rate * grad, out=kept)
        if n_pushes[src] < steps:
            comm.send(kept, src)
    for dst in range(1, comm.size):
        comm.send(kept, dst)
    return kept
