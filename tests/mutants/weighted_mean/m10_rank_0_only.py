# class: B2
# hint: only-rank-0
import numpy as np

from course_lib.collectives import allreduce_ring


def weighted_mean(comm, grad, n_examples):
    total = allreduce_ring(comm, np.array([float(n_examples)]))
    mean = allreduce_ring(comm, n_examples * grad) / total
    return mean if comm.rank == 0 else grad.copy()
