# class: B4
# hint: next-chunk
from course_lib.training.shards import split_evenly


def reduce_scatter_ring(comm, array):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    chunks = split_evenly(len(array), comm.size)
    total = array.copy()
    for step in range(comm.size - 1):
        outgoing = chunks[(comm.rank + 2 - step) % comm.size]
        incoming = chunks[(comm.rank + 1 - step) % comm.size]
        total[incoming] += comm.sendrecv(total[outgoing], dst=right, src=left)
    return total[chunks[(comm.rank + 3) % comm.size]].copy()
