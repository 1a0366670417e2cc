# class: B6
# hint: peer-finished


def allreduce_tree(comm, array):
    total, children = array.copy(), [2 * comm.rank + 1, 2 * comm.rank + 2]
    if children[1] >= comm.size:
        children = []
    for child in children:
        total = total + comm.recv(child)
    if comm.rank > 0:
        comm.send(total, (comm.rank - 1) // 2)
        total = comm.recv((comm.rank - 1) // 2)
    for child in children:
        comm.send(total, child)
    return total
