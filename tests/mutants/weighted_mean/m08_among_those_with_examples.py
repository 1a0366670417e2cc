# class: B5
# hint: mean-of-means
import numpy as np

from course_lib.collectives import allreduce_ring


def weighted_mean(comm, grad, n_examples):
    held = allreduce_ring(comm, np.array([float(n_examples > 0)]))
    return allreduce_ring(comm, grad) / held
