# class: B1
# hint: one-side
import numpy as np


def swap_halos(comm, rows, halo):
    wide = np.zeros((len(rows) + 2 * halo, rows.shape[1]))
    wide[halo:-halo] = rows
    going = comm.isend(rows[-halo:], comm.rank + 1) if comm.rank + 1 < comm.size else None
    if comm.rank > 0:
        wide[:halo] = comm.recv(comm.rank - 1)
    if going:
        going.wait()
    return wide
