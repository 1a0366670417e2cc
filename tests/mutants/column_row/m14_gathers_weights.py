# class: B15
# hint: too-many-bytes
import numpy as np

from course_lib.collectives import allgather_ring


def column_row(comm, x, dy, columns, b1, rows, b2):
    every = allgather_ring(comm, np.hstack([columns, b1[:, None], rows.T]))
    n_in = x.shape[1]
    first, bias, second = every[:, :n_in], every[:, n_in], every[:, n_in + 1 :].T
    hidden = np.maximum(x @ first.T + bias, 0)
    return {"y": hidden @ second.T + b2, "dx": dy @ second * (hidden > 0) @ first}
