# class: B6
# hint: hidden-deadlock
from course_lib.training.shards import split_evenly


def swap(comm, chunk, right, left):
    comm.send(chunk, dst=right)
    return comm.recv(src=left)


def allreduce_ring(comm, array):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    chunks = split_evenly(len(array), comm.size)
    total = array.copy()
    for step in range(comm.size - 1):
        outgoing = chunks[(comm.rank - step) % comm.size]
        incoming = chunks[(comm.rank - step - 1) % comm.size]
        total[incoming] += swap(comm, total[outgoing], right, left)
    for step in range(comm.size - 1):
        outgoing = chunks[(comm.rank + 1 - step) % comm.size]
        incoming = chunks[(comm.rank - step) % comm.size]
        total[incoming] = swap(comm, total[outgoing], right, left)
    return total
