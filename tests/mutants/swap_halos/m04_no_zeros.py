# class: B7
# hint: no-padding
import numpy as np


def swap_halos(comm, rows, halo):
    zeros = np.zeros((halo, rows.shape[1]))
    above, below = comm.rank - 1, comm.rank + 1
    going = [comm.isend(rows[:halo], above)] if above >= 0 else []
    going += [comm.isend(rows[-halo:], below)] if below < comm.size else []
    top = comm.recv(above) if above >= 0 else zeros[:0]
    bottom = comm.recv(below) if below < comm.size else zeros[:0]
    for message in going:
        message.wait()
    return np.concatenate([top, rows, bottom])
