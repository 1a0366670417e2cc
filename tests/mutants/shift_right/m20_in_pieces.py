# class: B15
# hint: too-many-messages
import numpy as np


def shift_right(comm, x):
    if comm.size == 1:
        return x.copy()
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    result = np.empty_like(x)
    for start in range(0, len(x), 500):
        comm.send(x[start : start + 500], right)
        result[start : start + 500] = comm.recv(left)
    return result
