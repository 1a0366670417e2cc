# class: B14
# hint: sends-too-early
def allreduce_tree(comm, array):
    parent = (comm.rank - 1) // 2
    children = [child for child in (2 * comm.rank + 1, 2 * comm.rank + 2) if child < comm.size]
    total = array.copy()
    if comm.rank != 0:
        comm.send(total, dst=parent)
    for child in children:
        total += comm.recv(src=child)
    if comm.rank != 0:
        total = comm.recv(src=parent)
    for child in children:
        comm.send(total, dst=child)
    return total
