# class: B11
# hint: stale
def allreduce_tree(comm, array, kept=[]):  # noqa: B006
    parent = (comm.rank - 1) // 2
    children = [child for child in (2 * comm.rank + 1, 2 * comm.rank + 2) if child < comm.size]
    total = array.copy()
    for child in children:
        total += comm.recv(src=child)
    if comm.rank != 0:
        comm.send(total, dst=parent)
        total = comm.recv(src=parent)
    for child in children:
        comm.send(total, dst=child)
    kept.append(total)
    return kept[0].copy()
