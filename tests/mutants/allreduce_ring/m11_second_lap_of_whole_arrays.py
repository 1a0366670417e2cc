# class: B15
# hint: too-many-bytes
def allreduce_ring(comm, array):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    total, passing = array.copy(), array
    for _ in range(comm.size - 1):
        passing = comm.sendrecv(passing, dst=right, src=left)
        total += passing
    for _ in range(comm.size - 1):
        total = comm.sendrecv(total, dst=right, src=left)
    return total
