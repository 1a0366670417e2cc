# class: A1
# hint: result-dropped


def shift_right(comm, x):
    if comm.size > 1:
        comm.sendrecv(x, dst=(comm.rank + 1) % comm.size, src=(comm.rank - 1) % comm.size)
    return x.copy()
