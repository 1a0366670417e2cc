# class: C6
# hint: one-trip
import numpy as np


def ping_pong(comm, n_bytes, n_trips):
    message = np.zeros(n_bytes, dtype=np.uint8)
    for _ in range(n_trips):
        start_s = comm.clock()
        if comm.rank == 0:
            comm.send(message, 1)
            comm.recv(1)
            took_s = comm.clock() - start_s
        elif comm.rank == 1:
            comm.recv(0)
            comm.send(message, 0)
    return took_s / 2 if comm.rank == 0 else None
