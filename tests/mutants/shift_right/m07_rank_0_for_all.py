# class: B2
# hint: one-for-all


def shift_right(comm, x):
    if comm.rank == 0:
        for dst in range(1, comm.size):
            comm.send(x, dst)
        return x.copy()
    return comm.recv(0)
