# class: A1
# hint: returned-nothing


def pass_around(comm, x):
    if comm.size == 1:
        return x.copy()
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    if comm.rank == 0:
        comm.send(x, right)
        return comm.recv(left)
    return comm.send(comm.recv(left) + x, right)
