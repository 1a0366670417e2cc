# class: B4
# hint: no-modulo
def pass_around(comm, x):
    if comm.rank == 0:
        comm.send(x, 1)
        return comm.recv(comm.size - 1)
    total = comm.recv(comm.rank - 1) + x
    comm.send(total, comm.rank + 1)
    return total
