# class: B3
# hint: not-weighed
import numpy as np

from course_lib.collectives import allreduce_ring


def weighted_mean(comm, grad, n_examples):
    total = allreduce_ring(comm, grad)
    return total / allreduce_ring(comm, np.array([float(n_examples)]))
