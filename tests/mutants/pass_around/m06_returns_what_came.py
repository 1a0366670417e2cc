# class: B1
# hint: returns-what-came


def pass_around(comm, x):
    if comm.size == 1:
        return x.copy()
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    if comm.rank == 0:
        comm.send(x, right)
        return comm.recv(left)
    came = comm.recv(left)
    comm.send(came + x, right)
    return came
