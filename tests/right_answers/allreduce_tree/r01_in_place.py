def allreduce_tree(comm, array):
    total = array.copy()
    first, second = 2 * comm.rank + 1, 2 * comm.rank + 2
    if first < comm.size:
        comm.recv(first, out=total, op="sum")
    if second < comm.size:
        comm.recv(second, out=total, op="sum")
    if comm.rank > 0:
        comm.send(total, (comm.rank - 1) // 2)
        comm.recv((comm.rank - 1) // 2, out=total)
    if first < comm.size:
        comm.send(total, first)
    if second < comm.size:
        comm.send(total, second)
    return total
