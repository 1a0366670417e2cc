import numpy as np

from course_lib.collectives import allreduce_tree


def column_row(comm, x, dy, columns, b1, rows, b2):
    inside = x @ columns.T + b1
    part = np.where(inside > 0, inside, 0) @ rows.T
    if comm.rank == 0:
        part = part + b2
    back = np.where(inside > 0, dy @ rows, 0) @ columns
    return {"y": allreduce_tree(comm, part), "dx": allreduce_tree(comm, back)}
