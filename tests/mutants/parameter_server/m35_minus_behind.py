# class: C6
# hint: sign-behind
import numpy as np


def parameter_server(comm, w, gradient, learning_rate, steps):
    if comm.rank > 0:
        for _ in range(steps):
            w = comm.recv(0)
            comm.send(gradient(w), 0)
        return comm.recv(0)
    w = w.copy()
    total = np.zeros_like(w)
    for _ in range(steps):
        total[:] = 0
        for dst in range(1, comm.size):
            comm.send(w, dst)
        for src in range(1, comm.size):
            total += comm.recv(src)
        w =- learning_rate * total  # fmt: skip
    for dst in range(1, comm.size):
        comm.send(w, dst)
    return w
