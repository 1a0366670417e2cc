# class: B7
# hint: one-row
import numpy as np


def swap_halos(comm, rows, halo):
    zeros = np.zeros((1, rows.shape[1]))
    above, below = comm.rank - 1, comm.rank + 1
    going = [comm.isend(rows[:1], above)] if above >= 0 else []
    going += [comm.isend(rows[-1:], below)] if below < comm.size else []
    top = comm.recv(above) if above >= 0 else zeros
    bottom = comm.recv(below) if below < comm.size else zeros
    for message in going:
        message.wait()
    return np.concatenate([top, rows, bottom])
