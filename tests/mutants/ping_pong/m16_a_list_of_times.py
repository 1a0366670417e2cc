# class: C2
# hint: one-number
import numpy as np


def ping_pong(comm, n_bytes, n_trips):
    message = np.zeros(n_bytes, dtype=np.uint8)
    times = []
    for _ in range(n_trips):
        start_s = comm.clock()
        if comm.rank == 0:
            comm.send(message, 1)
            comm.recv(1)
            times.append((comm.clock() - start_s) / 2)
        elif comm.rank == 1:
            comm.recv(0)
            comm.send(message, 0)
    return times if comm.rank == 0 else None
