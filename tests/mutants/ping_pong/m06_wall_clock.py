# class: A6
# hint: wrong-clock
import time

import numpy as np


def ping_pong(comm, n_bytes, n_trips):
    message = np.zeros(n_bytes, dtype=np.uint8)
    if comm.rank > 1:
        return None
    start_s = time.perf_counter()
    for _ in range(n_trips):
        if comm.rank == 0:
            comm.send(message, 1)
            comm.recv(1)
        else:
            comm.recv(0)
            comm.send(message, 0)
    seconds = (time.perf_counter() - start_s) / (2 * n_trips)
    return seconds + 1e-3 if comm.rank == 0 else None
