import numpy as np


def ping_pong(comm, n_bytes, n_trips):
    message = np.ones(n_bytes, dtype=np.int8)
    seconds = []
    for _ in range(n_trips + 1):
        start_s = comm.clock()
        if comm.rank == 0:
            comm.send(message, 1, tag="ping")
            comm.recv(1, out=message, tag="pong")
            seconds.append((comm.clock() - start_s) / 2)
        elif comm.rank == 1:
            comm.recv(0, out=message, tag="ping")
            comm.send(message, 0, tag="pong")
    return sum(seconds[1:]) / n_trips if comm.rank == 0 else None
