# class: B5
# hint: one-worker


def shift_right(comm, x):
    return comm.sendrecv(x, dst=(comm.rank + 1) % comm.size, src=(comm.rank - 1) % comm.size)
