# class: A5
# hint: too-few-bytes
import numpy as np


def ping_pong(comm, n_bytes, n_trips):
    if comm.rank > 1:
        return None
    times = []
    for trip in range(n_trips):
        message, start_s = np.zeros(trip % 2, dtype=np.uint8), comm.clock()
        if comm.rank == 0:
            comm.send(message, 1)
            comm.recv(1)
            times.append((comm.clock() - start_s) / 2)
        else:
            comm.recv(0)
            comm.send(message, 0)
    return times[0] + n_bytes * (times[1] - times[0]) if comm.rank == 0 else None
