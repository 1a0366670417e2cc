# class: C3
# hint: dtype
def allreduce_butterfly(comm, array):
    core = 1 << (comm.size.bit_length() - 1)
    if comm.rank >= core:
        comm.send(array.astype(float), dst=comm.rank - core)
        return comm.recv(src=comm.rank - core)
    total, guest = array.astype(float), comm.rank + core
    if guest < comm.size:
        total += comm.recv(src=guest)
    distance = 1
    while distance < core:
        partner = comm.rank ^ distance
        total += comm.sendrecv(total, dst=partner, src=partner)
        distance *= 2
    if guest < comm.size:
        comm.send(total, dst=guest)
    return total
