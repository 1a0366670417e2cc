# class: C3
# hint: dtype


def pass_around(comm, x):
    x = x.astype(float)
    if comm.size == 1:
        return x.copy()
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    if comm.rank == 0:
        comm.send(x, right)
        return comm.recv(left)
    total = comm.recv(left) + x
    comm.send(total, right)
    return total
