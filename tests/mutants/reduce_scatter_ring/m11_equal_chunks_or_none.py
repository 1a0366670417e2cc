# class: B7
# hint: uneven
import numpy as np


def reduce_scatter_ring(comm, array):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    total = np.split(array.copy(), comm.size)
    for step in range(comm.size - 1):
        outgoing = (comm.rank - 1 - step) % comm.size
        incoming = (comm.rank - 2 - step) % comm.size
        total[incoming] += comm.sendrecv(total[outgoing], dst=right, src=left)
    return total[comm.rank].copy()
