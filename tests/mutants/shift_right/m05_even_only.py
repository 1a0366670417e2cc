# class: B5
# hint: exception


def shift_right(comm, x):
    if comm.size == 1:
        return x.copy()
    if comm.size % 2:
        raise ValueError("an even number of workers is needed")
    return comm.sendrecv(x, dst=(comm.rank + 1) % comm.size, src=(comm.rank - 1) % comm.size)
