# class: B15
# hint: too-many-bytes
from course_lib.training.shards import split_evenly


def reduce_scatter_ring(comm, array):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    total, passing = array.copy(), array
    for _ in range(comm.size - 1):
        passing = comm.sendrecv(passing, dst=right, src=left)
        total += passing
    return total[split_evenly(len(array), comm.size)[comm.rank]].copy()
