def pass_around(comm, x):
    last = comm.size - 1
    if comm.rank == 0 and last == 0:
        return x.copy()
    if comm.rank == 0:
        comm.send(x, 1, tag="lap")
        return comm.recv(last, tag="lap")
    total = comm.recv(comm.rank - 1, tag="lap") + x
    comm.send(total, 0 if comm.rank == last else comm.rank + 1, tag="lap")
    return total
