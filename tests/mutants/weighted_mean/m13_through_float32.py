# class: C4
# hint: precision
import numpy as np

from course_lib.collectives import allreduce_ring


def weighted_mean(comm, grad, n_examples):
    total = allreduce_ring(comm, np.array([float(n_examples)]))
    weighed = (n_examples * grad).astype(np.float32)
    return allreduce_ring(comm, weighed).astype(np.float64) / total
