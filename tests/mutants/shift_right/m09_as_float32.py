# class: C3
# hint: dtype


def shift_right(comm, x):
    if comm.size == 1:
        return x.copy()
    return comm.sendrecv(
        x.astype("float32"), dst=(comm.rank + 1) % comm.size, src=(comm.rank - 1) % comm.size
    )
