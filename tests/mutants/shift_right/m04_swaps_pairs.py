# class: B14
# hint: swaps-pairs


def shift_right(comm, x):
    partner = comm.rank ^ 1
    if partner >= comm.size:
        return x.copy()
    return comm.sendrecv(x, dst=partner, src=partner)
