# class: B2
# hint: powers-of-two
def allreduce_butterfly(comm, array):
    core = 1 << (comm.size.bit_length() - 1)
    if comm.rank >= core:
        comm.send(array, dst=comm.rank - core)
        return array.copy()
    total, guest = array.copy(), comm.rank + core
    if guest < comm.size:
        total += comm.recv(src=guest)
    distance = 1
    while distance < core:
        partner = comm.rank ^ distance
        total += comm.sendrecv(total, dst=partner, src=partner)
        distance *= 2
    return total
