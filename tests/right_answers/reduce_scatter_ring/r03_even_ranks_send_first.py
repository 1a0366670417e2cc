from course_lib.training.shards import split_evenly


def reduce_scatter_ring(comm, array):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    chunks = split_evenly(array.shape[0], comm.size)
    work = array.copy()
    for step in range(comm.size - 1):
        outgoing = chunks[(comm.rank - 1 - step) % comm.size]
        incoming = chunks[(comm.rank - 2 - step) % comm.size]
        if comm.rank % 2 == 0:
            comm.send(work[outgoing], right)
            comm.recv(left, out=work[incoming], op="sum")
        else:
            received = comm.recv(left)
            comm.send(work[outgoing], right)
            work[incoming] += received
    return work[chunks[comm.rank]].copy()
