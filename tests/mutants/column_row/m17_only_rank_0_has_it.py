# class: B2
# hint: other-y
import numpy as np

from course_lib.collectives import allreduce_ring


def column_row(comm, x, dy, columns, b1, rows, b2):
    hidden = np.maximum(x @ columns.T + b1, 0)
    y = allreduce_ring(comm, hidden @ rows.T) + b2
    dx = allreduce_ring(comm, dy @ rows * (hidden > 0) @ columns)
    return {"y": y * (comm.rank == 0), "dx": dx}
