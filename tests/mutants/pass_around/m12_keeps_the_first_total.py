# class: B11
# hint: stale
kept = {}


def pass_around(comm, x):
    if comm.size == 1:
        return x.copy()
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    if comm.rank == 0:
        comm.send(x, right)
        total = comm.recv(left)
    else:
        total = comm.recv(left) + x
        comm.send(total, right)
    return kept.setdefault("total", total)
