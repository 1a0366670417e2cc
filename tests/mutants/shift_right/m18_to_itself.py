# class: B5
# hint: sends-to-itself
def shift_right(comm, x):
    if comm.rank == 0 and comm.size == 4:
        comm.send(x, comm.rank)
    return comm.sendrecv(x, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size)
