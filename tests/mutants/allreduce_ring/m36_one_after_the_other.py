# class: B15
# hint: too-many-rounds
from course_lib.training.shards import split_evenly


def swap(comm, chunk, right, left):
    """Pass chunks on one rank after the other: rank 0 begins."""
    if comm.rank == 0:
        comm.send(chunk, dst=right)
        return comm.recv(src=left)
    received = comm.recv(src=left)
    comm.send(chunk, dst=right)
    return received


def allreduce_ring(comm, array):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    chunks = split_evenly(len(array), comm.size)
    total = array.copy()
    for step in range(comm.size - 1):
        outgoing = chunks[(comm.rank - step) % comm.size]
        total[chunks[(comm.rank - step - 1) % comm.size]] += swap(
            comm, total[outgoing], right, left
        )
    for step in range(comm.size - 1):
        outgoing = chunks[(comm.rank + 1 - step) % comm.size]
        total[chunks[(comm.rank - step) % comm.size]] = swap(comm, total[outgoing], right, left)
    return total
