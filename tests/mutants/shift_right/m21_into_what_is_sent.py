# class: B12
# hint: out-overlaps


def shift_right(comm, x):
    if comm.size > 1:
        comm.sendrecv(x, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size, out=x)
    return x.copy()
