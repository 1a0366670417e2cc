# class: B6
# hint: hidden-deadlock


def shift_right(comm, x):
    if comm.size == 1:
        return x.copy()
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    if x.nbytes > 16 * 1024:
        return comm.sendrecv(x, right, left)
    comm.send(x, right)
    return comm.recv(left)
