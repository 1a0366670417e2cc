def up(comm, array, children, parent):
    subtotal = array
    for child in children[::-1]:
        subtotal = subtotal + comm.recv(child)
    if parent is not None:
        comm.send(subtotal, parent)
    return subtotal


def down(comm, total, children, parent):
    if parent is not None:
        total = comm.recv(parent)
    for child in children:
        comm.send(total, child)
    return total


def allreduce_tree(comm, array):
    children = [rank for rank in range(1, comm.size) if (rank - 1) // 2 == comm.rank]
    parent = (comm.rank - 1) // 2 if comm.rank else None
    return down(comm, up(comm, array, children, parent), children, parent).copy()
