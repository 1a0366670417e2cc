# class: B3
# hint: round-trip
import numpy as np


def ping_pong(comm, n_bytes, n_trips):
    message = np.zeros(n_bytes, dtype=np.uint8)
    if comm.rank > 1:
        return None
    start_s = comm.clock()
    for _ in range(n_trips):
        if comm.rank == 0:
            comm.send(message, 1)
            comm.recv(1)
        else:
            comm.recv(0)
            comm.send(message, 0)
    return (comm.clock() - start_s) / n_trips
