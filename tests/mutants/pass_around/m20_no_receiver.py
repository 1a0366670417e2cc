# class: C2
# hint: verb-arguments
def pass_around(comm, x):
    if comm.rank == 0:
        comm.send(x)
        return comm.recv(comm.size - 1)
    total = comm.recv(comm.rank - 1) + x
    comm.send(total)
    return total
