# class: B7
# hint: padding
import numpy as np

from course_lib.training.shards import split_evenly


def allreduce_ring(comm, array):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    missing = -len(array) % comm.size
    total = np.concatenate([array, np.zeros((missing, *array.shape[1:]), array.dtype)])
    chunks = split_evenly(len(total), comm.size)
    for step in range(comm.size - 1):
        outgoing = chunks[(comm.rank - step) % comm.size]
        incoming = chunks[(comm.rank - step - 1) % comm.size]
        total[incoming] += comm.sendrecv(total[outgoing], dst=right, src=left)
    for step in range(comm.size - 1):
        outgoing = chunks[(comm.rank + 1 - step) % comm.size]
        incoming = chunks[(comm.rank - step) % comm.size]
        total[incoming] = comm.sendrecv(total[outgoing], dst=right, src=left)
    return total
