# class: B15
# hint: not-the-ring
from course_lib.training.shards import split_evenly


def reduce_scatter_ring(comm, array):
    chunks = split_evenly(len(array), comm.size)
    total = array[chunks[comm.rank]].copy()
    for step in range(1, comm.size):
        dst, src = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        total += comm.sendrecv(array[chunks[dst]], dst=dst, src=src)
    return total
