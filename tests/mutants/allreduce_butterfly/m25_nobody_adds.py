# class: B10
# hint: result-dropped
def allreduce_butterfly(comm, array):
    core = 1 << (comm.size.bit_length() - 1)
    if comm.rank >= core:
        comm.send(array, dst=comm.rank - core)
        return comm.recv(src=comm.rank - core)
    total, guest = array.copy(), comm.rank + core
    if guest < comm.size:
        total += comm.recv(src=guest)
    distance = 1
    while distance < core:
        partner = comm.rank ^ distance
        comm.sendrecv(total, dst=partner, src=partner)
        distance *= 2
    if guest < comm.size:
        comm.send(total, dst=guest)
    return total
