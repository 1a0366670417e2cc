# class: B6
# hint: deadlock
def shift_right(comm, x):
    if comm.size == 1:
        return x.copy()
    arrived = comm.recv((comm.rank - 1) % comm.size)
    comm.send(x, (comm.rank + 1) % comm.size)
    return arrived
