# class: B11
# hint: stale
import numpy as np

totals = {}


def combine(comm, grad_partial, w, step_size):
    if comm.rank != 0:
        comm.send(grad_partial, dst=0)
        return comm.recv(src=0)
    total = totals.setdefault("total", np.zeros_like(w))
    total += grad_partial
    for src in range(1, comm.size):
        total += comm.recv(src)
    w = w - step_size * total
    for dst in range(1, comm.size):
        comm.send(w, dst)
    return w
