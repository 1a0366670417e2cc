# class: B15
# hint: too-many-messages
import numpy as np

from course_lib.collectives import allreduce_ring
from course_lib.words.split import split_evenly


def column_row(comm, x, dy, columns, b1, rows, b2):
    n = int(allreduce_ring(comm, np.array([float(len(b1))]))[0])
    own = split_evenly(n, comm.size)[comm.rank]
    first, bias, second = np.zeros((n, x.shape[1])), np.zeros(n), np.zeros((dy.shape[1], n))
    first[own], bias[own], second[:, own] = columns, b1, rows
    first, bias, second = (allreduce_ring(comm, part) for part in (first, bias, second))
    hidden = np.maximum(x @ first.T + bias, 0)
    return {"y": hidden @ second.T + b2, "dx": dy @ second * (hidden > 0) @ first}
