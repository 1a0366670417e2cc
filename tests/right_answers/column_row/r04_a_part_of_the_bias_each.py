import numpy as np

from course_lib.collectives import allreduce


def column_row(comm, x, dy, columns, b1, rows, b2):
    hidden = np.clip(x @ columns.T + b1, 0, None)
    y = allreduce(comm, hidden @ rows.T + b2 / comm.size)
    dx = allreduce(comm, np.where(hidden > 0, dy @ rows, 0.0) @ columns)
    return {"dx": dx, "y": y}
