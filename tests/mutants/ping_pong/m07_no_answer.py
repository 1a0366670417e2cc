# class: B13
# hint: too-few-messages
import numpy as np


def ping_pong(comm, n_bytes, n_trips):
    message = np.zeros(n_bytes, dtype=np.uint8)
    if comm.rank == 1:
        for _ in range(n_trips):
            comm.recv(0)
    if comm.rank != 0:
        return None
    start_s = comm.clock()
    for _ in range(n_trips):
        comm.send(message, 1)
    return (comm.clock() - start_s) / n_trips
