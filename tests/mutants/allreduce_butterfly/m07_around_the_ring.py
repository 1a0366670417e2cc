# class: B14
# hint: last-bits
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
        right, left = (comm.rank + distance) % core, (comm.rank - distance) % core
        total += comm.sendrecv(total, dst=right, src=left)
        distance *= 2
    if guest < comm.size:
        comm.send(total, dst=guest)
    return total
