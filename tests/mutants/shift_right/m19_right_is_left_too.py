# class: B4
# hint: deadlock


def shift_right(comm, x):
    if comm.size == 1:
        return x.copy()
    neighbour = (comm.rank + 1) % comm.size
    return comm.sendrecv(x, dst=neighbour, src=neighbour)
