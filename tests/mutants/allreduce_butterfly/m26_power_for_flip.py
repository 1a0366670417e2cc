# class: C3
# hint: no-such-partner
def allreduce_butterfly(comm, array):
    total, distance = array.copy(), 1
    while distance < comm.size:
        partner = comm.rank**distance
        total += comm.sendrecv(total, dst=partner, src=partner)
        distance *= 2
    return total
