# class: B15
# hint: too-many-messages
import numpy as np

from course_lib.collectives import allreduce_ring


def column_row(comm, x, dy, columns, b1, rows, b2):
    hidden = np.maximum(x @ columns.T + b1, 0)
    y = np.array([allreduce_ring(comm, one) for one in hidden @ rows.T]) + b2
    back = (dy @ rows * (hidden > 0)) @ columns
    return {"y": y, "dx": np.array([allreduce_ring(comm, one) for one in back])}
