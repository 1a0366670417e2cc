# class: A5
# hint: other-keyword
def pass_around(comm, x):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    if comm.rank == 0:
        comm.send(x, dest=right)
        return comm.recv(source=left)
    total = comm.recv(source=left) + x
    comm.send(total, dest=right)
    return total
