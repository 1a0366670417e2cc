import numpy as np


def shift_right(comm, x):
    received = np.empty_like(x)
    if comm.size == 1:
        received[:] = x
    elif comm.rank == 0:
        comm.recv(comm.size - 1, out=received)
        comm.send(x, 1)
    else:
        comm.send(x, (comm.rank + 1) % comm.size)
        comm.recv(comm.rank - 1, out=received)
    return received
