# class: C6
# hint: wrong-sum
def allreduce_ring(comm, array):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    if comm.size > 1:
        comm.sendrecv(array, dst=right, src=left)
    return array * comm.size
