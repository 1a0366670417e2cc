# class: B3
# hint: mean-of-means
from course_lib.collectives import allreduce_ring


def weighted_mean(comm, grad, n_examples):
    return allreduce_ring(comm, grad) / comm.size
