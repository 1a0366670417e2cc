# class: B19
# hint: other-shape
import numpy as np

from course_lib.collectives import allgather_ring, allreduce_ring


def column_row(comm, x, dy, columns, b1, rows, b2):
    hidden = np.maximum(x @ columns.T + b1, 0)
    y = allgather_ring(comm, hidden @ rows.T + b2)
    return {"y": y, "dx": allreduce_ring(comm, dy @ rows * (hidden > 0) @ columns)}
