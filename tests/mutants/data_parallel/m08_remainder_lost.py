# class: B7
# hint: rows-lost
import numpy as np

from course_lib.collectives import allreduce_ring, broadcast_tree


def data_parallel(comm, model, w, X, y, learning_rate, batch_size):
    w = broadcast_tree(comm, w)
    for start in range(0, len(y), batch_size):
        X_batch, y_batch = X[start : start + batch_size], y[start : start + batch_size]
        each = len(y_batch) // comm.size
        mine = slice(comm.rank * each, (comm.rank + 1) * each)
        grad = np.zeros_like(w)
        if mine.stop > mine.start:
            grad = model.gradient(w, (X_batch[mine], y_batch[mine]))[1]
        w = w - learning_rate * allreduce_ring(comm, grad) / comm.size
    return w
