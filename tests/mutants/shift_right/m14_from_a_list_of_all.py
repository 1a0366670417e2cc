# class: A4
# hint: other-verb
everybody = {}


def shift_right(comm, x):
    everybody[comm.rank] = x.copy()
    comm.barrier()
    return everybody.get((comm.rank - 1) % comm.size, x.copy())
