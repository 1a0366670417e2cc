# class: B15
# hint: not-an-edge
def allreduce_tree(comm, array):
    if comm.rank != 0:
        comm.send(array, dst=0)
        return comm.recv(src=0)
    total = array.copy()
    for src in range(1, comm.size):
        total += comm.recv(src)
    for dst in range(1, comm.size):
        comm.send(total, dst)
    return total
