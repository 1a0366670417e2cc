# class: B15
# hint: sum-everywhere


def pass_around(comm, x):
    if comm.size == 1:
        return x.copy()
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    if comm.rank == 0:
        comm.send(x, right)
        total = comm.recv(left)
        for dst in range(1, comm.size):
            comm.send(total, dst)
        return total
    comm.send(comm.recv(left) + x, right)
    return comm.recv(0)
