# class: C2
# hint: rounded
import numpy as np


def ping_pong(comm, n_bytes, n_trips):
    if comm.rank > 1:
        return None
    packet, began_s = np.zeros(n_bytes, dtype=np.uint8), comm.clock()
    for _ in range(n_trips):
        if comm.rank == 0:
            comm.send(packet, 1)
            comm.recv(1)
        else:
            comm.send(comm.recv(0), 0)
    return round((comm.clock() - began_s) / (2 * n_trips), 6) if comm.rank == 0 else None
