# class: B6
# hint: hidden-deadlock
import numpy as np


def swap_halos(comm, rows, halo):
    wide = np.zeros((len(rows) + 2 * halo, rows.shape[1]))
    wide[halo:-halo] = rows
    if comm.rank > 0:
        comm.send(rows[:halo], comm.rank - 1)
    if comm.rank + 1 < comm.size:
        comm.send(rows[-halo:], comm.rank + 1)
        wide[-halo:] = comm.recv(comm.rank + 1)
    if comm.rank > 0:
        wide[:halo] = comm.recv(comm.rank - 1)
    return wide
