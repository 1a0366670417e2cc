# class: A3
# hint: library-answer
from course_lib.collectives import allreduce_ring


def pass_around(comm, x):
    return allreduce_ring(comm, x)
