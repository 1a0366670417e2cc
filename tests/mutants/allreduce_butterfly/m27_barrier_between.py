# class: B13
# hint: other-verb
def allreduce_butterfly(comm, array):
    total, distance = array.copy(), 1
    while distance < comm.size:
        comm.barrier()
        total += comm.sendrecv(total, dst=comm.rank ^ distance, src=comm.rank ^ distance)
        distance *= 2
    return total
