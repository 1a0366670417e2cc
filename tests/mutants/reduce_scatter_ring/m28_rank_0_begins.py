# class: C6
# hint: too-many-rounds
from course_lib.training.shards import split_evenly


def reduce_scatter_ring(comm, array):
    rank, P, total = comm.rank, comm.size, array.copy()
    rows = split_evenly(len(total), P)
    for step in range(P - 1):
        leaves, grows = rows[(rank - 1 - step) % P], rows[(rank - 2 - step) % P]
        if rank == 0:
            comm.send(total[leaves], (rank + 1) % P)
            arrived = comm.recv((rank - 1) % P)
        else:
            arrived = comm.recv((rank - 1) % P)
            comm.send(total[leaves], (rank + 1) % P)
        total[grows] += arrived
    return total[rows[rank]].copy()
