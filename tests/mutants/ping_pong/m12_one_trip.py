# class: A5
# hint: too-few-messages
import numpy as np


def ping_pong(comm, n_bytes, n_trips):
    message = np.zeros(n_bytes, dtype=np.uint8)
    if comm.rank > 1:
        return None
    start_s = comm.clock()
    if comm.rank == 0:
        comm.send(message, 1)
        comm.recv(1)
        return (comm.clock() - start_s) / 2
    comm.recv(0)
    comm.send(message, 0)
