# class: A3
# hint: library-answer
import course_lib.collectives.allreduce_ring as ring


def combine(comm, grad_partial, w, step_size):
    return w - step_size * ring.allreduce_ring(comm, grad_partial)
