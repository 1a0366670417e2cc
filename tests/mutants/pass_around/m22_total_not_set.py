# class: B2
# hint: not-yet-set
def pass_around(comm, x):
    if comm.rank == 0:
        total = x.copy()
    comm.send(total + x, (comm.rank + 1) % comm.size)
    return comm.recv((comm.rank - 1) % comm.size)
