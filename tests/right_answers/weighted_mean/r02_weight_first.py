import numpy as np

from course_lib.collectives import allreduce_butterfly


def weighted_mean(comm, grad, n_examples):
    total = allreduce_butterfly(comm, np.array([n_examples]))[0]
    return allreduce_butterfly(comm, grad * (n_examples / total))
