import numpy as np

from course_lib.collectives import allreduce_butterfly, broadcast_tree


def data_parallel(comm, model, w, X, y, learning_rate, batch_size):
    w = broadcast_tree(comm, w)
    for start in range(0, len(y), batch_size):
        stop = min(start + batch_size, len(y))
        rows = range(start + comm.rank, stop, comm.size)
        total = np.zeros_like(w)
        if rows:
            total = len(rows) * model.gradient(w, (X[rows], y[rows]))[1]
        w = w - learning_rate * allreduce_butterfly(comm, total) / (stop - start)
    return w
