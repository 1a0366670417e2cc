from course_lib.training.shards import split_evenly


def swap(comm, chunk):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    if comm.rank % 2 == 0:
        comm.send(chunk, dst=right)
        return comm.recv(src=left)
    received = comm.recv(src=left)
    comm.send(chunk, dst=right)
    return received


def allreduce_ring(comm, array):
    chunks = split_evenly(len(array), comm.size)
    total = array.copy()
    for step in range(comm.size - 1):
        part = swap(comm, total[chunks[(comm.rank - step) % comm.size]])
        total[chunks[(comm.rank - step - 1) % comm.size]] += part
    for step in range(comm.size - 1):
        part = swap(comm, total[chunks[(comm.rank + 1 - step) % comm.size]])
        total[chunks[(comm.rank - step) % comm.size]] = part
    return total
