# class: C2
# hint: side-by-side
import numpy as np


def swap_halos(comm, rows, halo):
    others = [rank for rank in (comm.rank - 1, comm.rank + 1) if 0 <= rank < comm.size]
    going = [comm.isend(rows[:halo] if dst < comm.rank else rows[-halo:], dst) for dst in others]
    for src in others:
        comm.recv(src)
    for message in going:
        message.wait()
    return np.hstack([rows, rows])
