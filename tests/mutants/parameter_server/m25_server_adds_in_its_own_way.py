# class: B9
# hint: last-bits
import numpy as np


def parameter_server(comm, w, gradient, learning_rate, steps):
    workers = range(1, comm.size)
    if comm.rank > 0:
        for _ in range(steps):
            comm.send(gradient(comm.recv(0)), 0)
        return comm.recv(0)
    mine, w = w.copy(), w.copy()
    for _ in range(steps):
        for dst in workers:
            comm.send(w, dst)
        parts = [comm.recv(src) for src in workers]
        w -= learning_rate * np.sum(parts, axis=0)
        for part in parts:
            mine -= learning_rate * part
    for dst in workers:
        comm.send(w, dst)
    return mine
