# class: B2
# hint: rank-0-returns-own


def pass_around(comm, x):
    if comm.size == 1:
        return x.copy()
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    if comm.rank == 0:
        comm.send(x, right)
        comm.recv(left)
        return x.copy()
    total = comm.recv(left) + x
    comm.send(total, right)
    return total
