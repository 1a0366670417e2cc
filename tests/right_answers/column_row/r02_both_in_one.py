import numpy as np

from course_lib.collectives import allreduce_ring


def column_row(comm, x, dy, columns, b1, rows, b2):
    hidden = np.maximum(x @ columns.T + b1, 0)
    parts = np.hstack([hidden @ rows.T, (dy @ rows * (hidden > 0)) @ columns])
    both = allreduce_ring(comm, parts)
    n_out = len(b2)
    return {"y": both[:, :n_out] + b2, "dx": both[:, n_out:].copy()}
