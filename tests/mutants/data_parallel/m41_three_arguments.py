# class: C2
# hint: one-batch
import numpy as np

from course_lib.collectives import allreduce_ring, broadcast_tree
from course_lib.training.shards import split_evenly


def data_parallel(comm, model, w, X, y, learning_rate, batch_size):
    w = broadcast_tree(comm, w)
    for start in range(0, len(y), batch_size):
        X_batch, y_batch = X[start : start + batch_size], y[start : start + batch_size]
        mine = split_evenly(len(y_batch), comm.size)[comm.rank]
        grad = np.zeros_like(w)
        if len(y_batch[mine]):
            grad = model.gradient(w, X_batch[mine], y_batch[mine])[1]
            grad = grad * len(y_batch[mine]) / len(y_batch)
        w = w - learning_rate * allreduce_ring(comm, grad)
    return w
