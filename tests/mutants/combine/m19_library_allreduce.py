# class: A3
# hint: library-answer
import course_lib.collectives as ready


def combine(comm, grad_partial, w, step_size):
    return w - step_size * ready.allreduce_ring(comm, grad_partial)
