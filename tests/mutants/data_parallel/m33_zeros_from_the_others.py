# class: A4
# hint: work-not-shared
import numpy as np

from course_lib.collectives import allreduce_ring, broadcast_tree


def data_parallel(comm, model, w, X, y, learning_rate, batch_size):
    w = broadcast_tree(comm, w)
    for start in range(0, len(y), batch_size):
        grad = np.zeros_like(w)
        if comm.rank == 0:
            batch = X[start : start + batch_size], y[start : start + batch_size]
            grad = model.gradient(w, batch)[1]
        w = w - learning_rate * allreduce_ring(comm, grad)
    return w
