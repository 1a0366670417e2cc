def allreduce_butterfly(comm, array):
    n_rounds = comm.size.bit_length() - 1
    core = 2**n_rounds
    guests = range(core, comm.size)
    if comm.rank in guests:
        return comm.sendrecv(array, comm.rank % core, comm.rank % core)
    total = array.copy()
    if comm.rank + core in guests:
        total += comm.recv(comm.rank + core)
    for bit in reversed(range(n_rounds)):
        partner = comm.rank ^ (1 << bit)
        received = comm.sendrecv(total, partner, partner)
        total = total + received if comm.rank < partner else received + total
    if comm.rank + core in guests:
        comm.send(total, comm.rank + core)
    return total
