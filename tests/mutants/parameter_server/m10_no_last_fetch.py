# class: B1
# hint: no-last-fetch
import numpy as np


def parameter_server(comm, w, gradient, learning_rate, steps):
    workers = range(1, comm.size)
    if comm.rank > 0:
        for _ in range(steps):
            w = comm.recv(0)
            comm.send(gradient(w), 0)
        return w
    w = w.copy()
    for _ in range(steps):
        for dst in workers:
            comm.send(w, dst)
        total = np.zeros_like(w)
        for src in workers:
            total += comm.recv(src)
        w -= learning_rate * total
    return w
