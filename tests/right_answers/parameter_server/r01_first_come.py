import numpy as np


def parameter_server(comm, w, gradient, learning_rate, steps):
    if comm.rank == 0:
        w = np.array(w)
        for _ in range(steps):
            for dst in range(1, comm.size):
                comm.send(w, dst, tag="parameters")
            pushed = {}
            while len(pushed) < comm.size - 1:
                src, grad = comm.recv_any()
                pushed[src] = grad
            w = (w - learning_rate * sum(pushed[src] for src in sorted(pushed))).astype(w.dtype)
        for dst in range(1, comm.size):
            comm.send(w, dst, tag="parameters")
        return w
    for _ in range(steps):
        w = comm.recv(0, tag="parameters")
        comm.send(gradient(w), 0)
    return comm.recv(0, tag="parameters")
