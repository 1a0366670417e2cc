# class: C7
# hint: broadcast
import numpy as np


def allreduce_tree(comm, array):
    parent = (comm.rank - 1) // 2
    children = [child for child in (2 * comm.rank + 1, 2 * comm.rank + 2) if child < comm.size]
    total = np.zeros(len(array), array.dtype)
    total += array
    for child in children:
        total += comm.recv(src=child)
    if comm.rank != 0:
        comm.send(total, dst=parent)
        total = comm.recv(src=parent)
    for child in children:
        comm.send(total, dst=child)
    return total
