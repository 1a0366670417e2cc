# class: C2
# hint: shape


def shift_right(comm, x):
    if comm.size == 1:
        return x[None].copy()
    return comm.sendrecv(x[None], dst=(comm.rank + 1) % comm.size, src=(comm.rank - 1) % comm.size)
