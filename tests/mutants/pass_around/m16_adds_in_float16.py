# class: C4
# hint: dtype
import numpy as np


def pass_around(comm, x):
    if comm.size == 1:
        return x.copy()
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    if comm.rank == 0:
        comm.send(x.astype(np.float16), right)
        return comm.recv(left)
    total = comm.recv(left) + x.astype(np.float16)
    comm.send(total, right)
    return total
