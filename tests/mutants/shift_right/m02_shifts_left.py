# class: B4
# hint: shifts-left


def shift_right(comm, x):
    if comm.size == 1:
        return x.copy()
    return comm.sendrecv(x, dst=(comm.rank - 1) % comm.size, src=(comm.rank + 1) % comm.size)
