# class: C2
# hint: not-an-array
def pass_around(comm, x):
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    if comm.rank == 0:
        comm.send(float(x.sum()), right)
        return comm.recv(left)
    total = comm.recv(left) + x
    comm.send(total, right)
    return total
