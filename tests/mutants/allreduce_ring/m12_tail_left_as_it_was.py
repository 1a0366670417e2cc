# class: B7
# hint: tail-lost
def allreduce_ring(comm, array):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    n = len(array) // comm.size
    chunks = [slice(k * n, (k + 1) * n) for k in range(comm.size)]
    total = array.copy()
    for step in range(comm.size - 1):
        outgoing = chunks[(comm.rank - step) % comm.size]
        incoming = chunks[(comm.rank - step - 1) % comm.size]
        total[incoming] += comm.sendrecv(total[outgoing], dst=right, src=left)
    for step in range(comm.size - 1):
        outgoing = chunks[(comm.rank + 1 - step) % comm.size]
        incoming = chunks[(comm.rank - step) % comm.size]
        total[incoming] = comm.sendrecv(total[outgoing], dst=right, src=left)
    return total
