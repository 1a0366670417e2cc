import numpy as np

from course_lib.collectives import allreduce_ring


def weighted_mean(comm, grad, n_examples):
    total = allreduce_ring(comm, np.append(n_examples * grad, n_examples))
    return total[:-1] / total[-1]
