# class: B3
# hint: not-divided
from course_lib.collectives import allreduce_ring


def weighted_mean(comm, grad, n_examples):
    return allreduce_ring(comm, n_examples * grad)
