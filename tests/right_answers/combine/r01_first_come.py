import numpy as np


def combine(comm, grad_partial, w, step_size):
    if comm.rank > 0:
        comm.send(grad_partial, 0)
        new = np.empty_like(w)
        return comm.recv(0, out=new)
    total = grad_partial.copy()
    for _ in range(comm.size - 1):
        _, part = comm.recv_any()
        total += part
    new = w - step_size * total
    for dst in reversed(range(1, comm.size)):
        comm.send(new, dst)
    return new
