# class: B4
# hint: one-step-less
from course_lib.training.shards import split_evenly


def allreduce_ring(comm, array):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    chunks = split_evenly(len(array), comm.size)
    total = array.copy()
    for step in range(comm.size - 2):
        outgoing = chunks[(comm.rank - step) % comm.size]
        incoming = chunks[(comm.rank - step - 1) % comm.size]
        total[incoming] += comm.sendrecv(total[outgoing], dst=right, src=left)
    for step in range(comm.size - 2):
        outgoing = chunks[(comm.rank + 1 - step) % comm.size]
        incoming = chunks[(comm.rank - step) % comm.size]
        total[incoming] = comm.sendrecv(total[outgoing], dst=right, src=left)
    return total
