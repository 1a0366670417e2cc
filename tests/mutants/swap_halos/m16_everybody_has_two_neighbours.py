# class: B5
# hint: no-neighbour
import numpy as np


def swap_halos(comm, rows, halo):
    going = [comm.isend(rows[:halo], comm.rank - 1), comm.isend(rows[-halo:], comm.rank + 1)]
    top, bottom = comm.recv(comm.rank - 1), comm.recv(comm.rank + 1)
    for message in going:
        message.wait()
    return np.concatenate([top, rows, bottom])
