# class: B15
# hint: too-many-rounds
def allreduce_butterfly(comm, array):
    total, distance = array.copy(), 1
    children = []
    while distance < comm.size and comm.rank % (2 * distance) == 0:
        if comm.rank + distance < comm.size:
            total += comm.recv(comm.rank + distance)
            children.append(comm.rank + distance)
        distance *= 2
    if comm.rank != 0:
        comm.send(total, comm.rank - distance)
        total = comm.recv(comm.rank - distance)
    for child in reversed(children):
        comm.send(total, child)
    return total
