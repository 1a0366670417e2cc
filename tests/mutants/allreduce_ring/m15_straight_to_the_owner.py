# class: B15
# hint: not-the-ring
from course_lib.training.shards import split_evenly


def allreduce_ring(comm, array):
    chunks = split_evenly(len(array), comm.size)
    mine = chunks[comm.rank]
    total = array.copy()
    for step in range(1, comm.size):
        dst, src = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        total[mine] += comm.sendrecv(array[chunks[dst]], dst=dst, src=src)
    for step in range(1, comm.size):
        dst, src = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        total[chunks[src]] = comm.sendrecv(total[mine], dst=dst, src=src)
    return total
