# class: C6
# hint: slope-at-zero
import numpy as np

from course_lib.collectives import allreduce_ring


def column_row(comm, x, dy, columns, b1, rows, b2):
    z = x @ columns.T + b1
    hidden = np.maximum(z, 0)
    y = allreduce_ring(comm, hidden @ rows.T) + b2
    dhidden = dy @ rows * (z >= 0)
    return {"y": y, "dx": allreduce_ring(comm, dhidden @ columns)}
