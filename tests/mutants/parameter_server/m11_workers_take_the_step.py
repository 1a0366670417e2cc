# class: B17
# hint: own-step
import numpy as np


def parameter_server(comm, w, gradient, learning_rate, steps):
    if comm.rank > 0:
        w = comm.recv(0)
        for _ in range(steps):
            grad = gradient(w)
            comm.send(grad, 0)
            mine, w = w - learning_rate * grad, comm.recv(0)
        return mine if steps else w
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
