# class: B6
# hint: deadlock


def pass_around(comm, x):
    if comm.size == 1:
        return x.copy()
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    total = comm.recv(left) + x
    comm.send(total, right)
    return total
