# class: B15
# hint: too-many-messages
import numpy as np


def swap_halos(comm, rows, halo):
    wide = np.zeros((len(rows) + 2 * halo, rows.shape[1]))
    wide[halo:-halo] = rows
    above, below, going = comm.rank - 1, comm.rank + 1, []
    for k in range(halo):
        going += [comm.isend(rows[k], above)] if above >= 0 else []
        going += [comm.isend(rows[len(rows) - halo + k], below)] if below < comm.size else []
    for k in range(halo):
        if above >= 0:
            wide[k] = comm.recv(above)
        if below < comm.size:
            wide[len(rows) + halo + k] = comm.recv(below)
    for message in going:
        message.wait()
    return wide
