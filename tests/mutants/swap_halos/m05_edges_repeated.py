# class: C6
# hint: edges-repeated
import numpy as np


def swap_halos(comm, rows, halo):
    above, below = comm.rank - 1, comm.rank + 1
    going = [comm.isend(rows[:halo], above)] if above >= 0 else []
    going += [comm.isend(rows[-halo:], below)] if below < comm.size else []
    top = comm.recv(above) if above >= 0 else rows[:halo]
    bottom = comm.recv(below) if below < comm.size else rows[-halo:]
    for message in going:
        message.wait()
    return np.concatenate([top, rows, bottom])
