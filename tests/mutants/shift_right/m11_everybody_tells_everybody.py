# class: B15
# hint: too-many-messages


def shift_right(comm, x):
    parts = {comm.rank: x.copy()}
    for step in range(1, comm.size):
        src = (comm.rank - step) % comm.size
        parts[src] = comm.sendrecv(x, dst=(comm.rank + step) % comm.size, src=src)
    return parts[(comm.rank - 1) % comm.size]
