# class: B5
# hint: no-such-child
def allreduce_tree(comm, array):
    parent = (comm.rank - 1) // 2
    children = [2 * comm.rank + 1, 2 * comm.rank + 2]
    if comm.rank >= comm.size // 2:
        children = []
    total = array.copy()
    for child in children:
        total += comm.recv(src=child)
    if comm.rank != 0:
        comm.send(total, dst=parent)
        total = comm.recv(src=parent)
    for child in children:
        comm.send(total, dst=child)
    return total
