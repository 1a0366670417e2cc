import math


def allreduce_butterfly(comm, array):
    core = 2 ** int(math.log2(comm.size))
    host = comm.rank - core
    if host >= 0:
        comm.send(array, host)
    elif comm.rank + core < comm.size:
        array = array + comm.recv(comm.rank + core)
    group = 1
    while group < core and host < 0:
        is_lower = comm.rank // group % 2 == 0
        partner = comm.rank + group if is_lower else comm.rank - group
        array = array + comm.sendrecv(array, partner, partner)
        group += group
    if host >= 0:
        return comm.recv(host)
    if comm.rank + core < comm.size:
        comm.send(array, comm.rank + core)
    return array.copy()
