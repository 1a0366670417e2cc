# class: C2
# hint: slice
from course_lib.training.shards import split_evenly


def reduce_scatter_ring(comm, array):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    chunks, total = split_evenly(len(array), comm.size), array.copy()
    for step in range(comm.size - 1):
        start, stop = chunks[step]
        total = total[start:stop]
        out = total[chunks[(comm.rank - 1 - step) % comm.size]]
        into = chunks[(comm.rank - 2 - step) % comm.size]
        if comm.rank == 0:
            comm.send(out, right)
            total[into] += comm.recv(left)
        else:
            came = comm.recv(left)
            comm.send(out, right)
            total[into] += came
    return total[chunks[comm.rank]].copy()
