# class: B3
# hint: divides-by-ranks
from course_lib.collectives import allreduce_ring


def weighted_mean(comm, grad, n_examples):
    return allreduce_ring(comm, n_examples * grad) / comm.size
