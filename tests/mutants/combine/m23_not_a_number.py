# class: C1
# hint: nan
import numpy as np


def combine(comm, grad_partial, w, step_size):
    if comm.rank != 0:
        comm.send(grad_partial, dst=0)
        return comm.recv(src=0)
    total = np.zeros_like(w)
    for src in range(1, comm.size):
        total += comm.recv(src)
    with np.errstate(invalid="ignore"):
        w = w - step_size * (total - total) / (total - total)
    for dst in range(1, comm.size):
        comm.send(w, dst)
    return w
