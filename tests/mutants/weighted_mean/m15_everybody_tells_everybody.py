# class: B15
# hint: too-many-bytes
import numpy as np


def weighted_mean(comm, grad, n_examples):
    mine = np.append(n_examples * grad, n_examples)
    total = mine.copy()
    for distance in range(1, comm.size):
        right, left = (comm.rank + distance) % comm.size, (comm.rank - distance) % comm.size
        total += comm.sendrecv(mine, dst=right, src=left)
    return total[:-1] / total[-1]
