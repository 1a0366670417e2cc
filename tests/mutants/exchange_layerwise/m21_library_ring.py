# class: A3
# hint: library-answer
from course_lib.collectives import allreduce_ring


def exchange_layerwise(comm, backward, allreduce):
    pending = [comm.start(allreduce_ring, gradient) for _, gradient in backward(comm)]
    return [exchange.wait() for exchange in pending[::-1]]
