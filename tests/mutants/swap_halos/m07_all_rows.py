# class: B15
# hint: too-many-bytes
import numpy as np


def swap_halos(comm, rows, halo):
    zeros = np.zeros((halo, rows.shape[1]))
    above, below = comm.rank - 1, comm.rank + 1
    going = [comm.isend(rows, dst) for dst in (above, below) if 0 <= dst < comm.size]
    top = comm.recv(above)[-halo:] if above >= 0 else zeros
    bottom = comm.recv(below)[:halo] if below < comm.size else zeros
    for message in going:
        message.wait()
    return np.concatenate([top, rows, bottom])
