import numpy as np


def swap_halos(comm, rows, halo):
    wide = np.zeros((len(rows) + 2 * halo, rows.shape[1]))
    wide[halo : halo + len(rows)] = rows
    others = [rank for rank in (comm.rank - 1, comm.rank + 1) if 0 <= rank < comm.size]
    for other in sorted(others, key=lambda rank: (min(rank, comm.rank) % 2, rank)):
        if other < comm.rank:
            wide[:halo] = comm.sendrecv(rows[:halo], dst=other, src=other)
        else:
            wide[-halo:] = comm.sendrecv(rows[-halo:], dst=other, src=other)
    return wide
