from course_lib.training.shards import split_evenly


def reduce_scatter_ring(comm, array):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    chunks = split_evenly(len(array), comm.size)
    total = array.copy()
    for step in range(comm.size - 1):
        going = total[chunks[(comm.rank - 1 - step) % comm.size]]
        coming = chunks[(comm.rank - 2 - step) % comm.size]
        if (comm.rank == 0 and step % 2) or comm.rank == 0:
            arrived = comm.recv(left)
            comm.send(going, right)
        else:
            comm.send(going, right)
            arrived = comm.recv(left)
        total[coming] = total[coming] + arrived
    return total[chunks[comm.rank]].copy()
