# class: B11
# hint: stale
import numpy as np


def parameter_server(comm, w, gradient, learning_rate, steps):
    if comm.rank > 0:
        w = comm.recv(0)
        for _ in range(steps):
            comm.send(gradient(w), 0)
        return comm.recv(0)
    w = w.copy()
    for dst in range(1, comm.size):
        comm.send(w, dst)
    for _ in range(steps):
        total = np.zeros_like(w)
        for src in range(1, comm.size):
            total += comm.recv(src)
        w -= learning_rate * total
    for dst in range(1, comm.size):
        comm.send(w, dst)
    return w
