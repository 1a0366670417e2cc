# class: B4
# hint: wraps
import numpy as np


def swap_halos(comm, rows, halo):
    above, below = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    if comm.size == 1:
        return np.concatenate([rows[-halo:], rows, rows[:halo]])
    bottom = comm.sendrecv(rows[:halo], dst=above, src=below)
    top = comm.sendrecv(rows[-halo:], dst=below, src=above)
    return np.concatenate([top, rows, bottom])
