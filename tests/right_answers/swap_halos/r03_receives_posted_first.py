import numpy as np


def swap_halos(comm, rows, halo):
    zeros = np.zeros((halo, rows.shape[1]))
    above = comm.rank - 1 if comm.rank > 0 else None
    below = comm.rank + 1 if comm.rank < comm.size - 1 else None
    coming = [comm.irecv(other) if other is not None else None for other in (above, below)]
    going = []
    if above is not None:
        going.append(comm.isend(rows[:halo], above))
    if below is not None:
        going.append(comm.isend(rows[-halo:], below))
    top, bottom = (one.wait() if one is not None else zeros for one in coming)
    for message in going:
        message.wait()
    return np.vstack((top, rows, bottom))
