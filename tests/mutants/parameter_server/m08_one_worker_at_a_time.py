# class: B15
# hint: too-many-rounds
import numpy as np


def parameter_server(comm, w, gradient, learning_rate, steps):
    workers = range(1, comm.size)
    if comm.rank > 0:
        for _ in range(steps):
            comm.send(gradient(comm.recv(0)), 0)
        return comm.recv(0)
    w = w.copy()
    for _ in range(steps):
        total = np.zeros_like(w)
        for worker in workers:
            comm.send(w, worker)
            total += comm.recv(worker)
        w -= learning_rate * total
    for dst in workers:
        comm.send(w, dst)
    return w
