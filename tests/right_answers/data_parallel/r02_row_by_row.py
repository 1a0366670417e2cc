import numpy as np

from course_lib.collectives import allreduce_tree, broadcast_tree
from course_lib.training.shards import split_evenly


def data_parallel(comm, model, w, X, y, learning_rate, batch_size):
    w = broadcast_tree(comm, w)
    for batch in np.split(np.arange(len(y)), range(batch_size, len(y), batch_size)):
        grad = np.zeros_like(w)
        for row in batch[split_evenly(len(batch), comm.size)[comm.rank]]:
            grad += model.gradient(w, (X[row : row + 1], y[row : row + 1]))[1] / len(batch)
        w -= learning_rate * allreduce_tree(comm, grad)
    return w
