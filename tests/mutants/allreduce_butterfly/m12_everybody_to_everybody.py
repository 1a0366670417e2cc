# class: B15
# hint: too-many-messages
def allreduce_butterfly(comm, array):
    parts = {comm.rank: array}
    for step in range(1, comm.size):
        dst, src = (comm.rank + step) % comm.size, (comm.rank - step) % comm.size
        parts[src] = comm.sendrecv(array, dst=dst, src=src)
    return sum((parts[rank] for rank in range(1, comm.size)), start=parts[0].copy())
