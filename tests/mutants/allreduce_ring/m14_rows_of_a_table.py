# class: B7
# hint: uneven
def allreduce_ring(comm, array):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    total = array.copy().reshape(comm.size, -1)
    chunks = range(comm.size)
    for step in range(comm.size - 1):
        outgoing = chunks[(comm.rank - step) % comm.size]
        incoming = chunks[(comm.rank - step - 1) % comm.size]
        total[incoming] += comm.sendrecv(total[outgoing], dst=right, src=left)
    for step in range(comm.size - 1):
        outgoing = chunks[(comm.rank + 1 - step) % comm.size]
        incoming = chunks[(comm.rank - step) % comm.size]
        total[incoming] = comm.sendrecv(total[outgoing], dst=right, src=left)
    return total.reshape(array.shape)
