# class: B4
# hint: no-wrap


def shift_right(comm, x):
    if comm.rank + 1 < comm.size:
        comm.send(x, comm.rank + 1)
    return comm.recv(comm.rank - 1) if comm.rank > 0 else x.copy()
