# class: B19
# hint: relu-at-the-end
import numpy as np

from course_lib.collectives import allreduce_ring


def column_row(comm, x, dy, columns, b1, rows, b2):
    hidden = np.maximum(x @ columns.T + b1, 0)
    y = np.maximum(allreduce_ring(comm, hidden @ rows.T) + b2, 0)
    dhidden = dy @ rows * (hidden > 0)
    dx = allreduce_ring(comm, dhidden @ columns)
    return {"y": y, "dx": dx}
