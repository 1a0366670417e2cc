# class: B12
# hint: changes-input


def shift_right(comm, x):
    if comm.size == 1:
        return x.copy()
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    return comm.sendrecv(x.copy(), right, left, out=x).copy()
