# class: C9
# hint: other-returns
import numpy as np


def ping_pong(comm, n_bytes, n_trips):
    message = np.zeros(n_bytes, dtype=np.uint8)
    start_s = comm.clock()
    for _ in range(n_trips):
        if comm.rank == 0:
            comm.send(message, 1)
            comm.recv(1)
        elif comm.rank == 1:
            comm.recv(0)
            comm.send(message, 0)
    return (comm.clock() - start_s) / (2 * n_trips) if comm.rank == 1 else None
