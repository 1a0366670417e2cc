# class: B2
# hint: all-return
import numpy as np


def ping_pong(comm, n_bytes, n_trips):
    message = np.zeros(n_bytes, dtype=np.uint8)
    seconds = 0.0
    if comm.rank <= 1:
        start_s = comm.clock()
        for _ in range(n_trips):
            if comm.rank == 0:
                comm.send(message, 1)
                comm.recv(1)
            else:
                comm.recv(0)
                comm.send(message, 0)
        seconds = (comm.clock() - start_s) / (2 * n_trips)
    result = np.array([seconds])
    if comm.rank == 0:
        for dst in range(1, comm.size):
            comm.send(result, dst)
    else:
        result = comm.recv(0)
    return float(result[0])
