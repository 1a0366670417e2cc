import numpy as np


def ping_pong(comm, n_bytes, n_trips):
    message, total_s = np.zeros(n_bytes, dtype="u1"), 0.0
    for _ in range(n_trips):
        before_s = comm.clock()
        if comm.rank == 0:
            comm.send(message, dst=1)
            message = comm.recv(src=1)
        if comm.rank == 1:
            comm.send(comm.recv(src=0), dst=0)
        total_s += comm.clock() - before_s
    if comm.rank == 0:
        return total_s / n_trips / 2
