# class: B5
# hint: fixed-size
def pass_around(comm, x):
    if comm.size == 1:
        return x.copy()
    if comm.rank == 0:
        comm.send(x, 1)
        return comm.recv(3)
    total = comm.recv(comm.rank - 1) + x
    comm.send(total, (comm.rank + 1) % 4)
    return total
