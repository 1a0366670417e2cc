# class: C3
# hint: cut-off
import numpy as np

from course_lib.collectives import allreduce_ring


def weighted_mean(comm, grad, n_examples):
    total = allreduce_ring(comm, np.array([n_examples]))
    return (allreduce_ring(comm, n_examples * grad) // total).astype(float)
