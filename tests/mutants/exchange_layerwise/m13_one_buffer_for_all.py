# class: B11
# hint: overwritten
import numpy as np


def exchange_layerwise(comm, backward, allreduce):
    buffer, pending = np.zeros(10_000), []
    for _, gradient in backward(comm):
        part = buffer[: gradient.size].reshape(gradient.shape)
        part[...] = gradient
        pending.append(comm.start(allreduce, part))
        buffer[:] = 0
    return [exchange.wait() for exchange in pending[::-1]]
