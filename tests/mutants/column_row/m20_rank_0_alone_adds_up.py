# class: A8
# hint: left-out
import numpy as np

from course_lib.collectives import allreduce_ring


def column_row(comm, x, dy, columns, b1, rows, b2):
    hidden = np.maximum(x @ columns.T + b1, 0)
    y = hidden @ rows.T
    if comm.rank == 0:
        y = allreduce_ring(comm, y)
    return {"y": y + b2, "dx": dy @ rows * (hidden > 0) @ columns}
