# class: A3
# hint: other-verb
def pass_around(comm, x):
    comm.barrier()
    if comm.size == 1:
        return x.copy()
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    if comm.rank == 0:
        comm.send(x, right)
        return comm.recv(left)
    total = comm.recv(left) + x
    comm.send(total, right)
    return total
