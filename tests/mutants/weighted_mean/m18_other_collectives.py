# class: B14
# hint: other-collective
import numpy as np

from course_lib.collectives import allreduce_ring, allreduce_tree


def weighted_mean(comm, grad, n_examples):
    if n_examples == 0:
        total = allreduce_tree(comm, np.zeros(1))
        return allreduce_ring(comm, np.zeros_like(grad)) / total
    total = allreduce_ring(comm, np.array([float(n_examples)]))
    return allreduce_ring(comm, n_examples * grad) / total
