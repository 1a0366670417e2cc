# class: C2
# hint: not-a-list
import numpy as np


def exchange_layerwise(comm, backward, allreduce):
    pending = [comm.start(allreduce, gradient) for _, gradient in backward(comm)]
    return np.concatenate([exchange.wait().ravel() for exchange in pending[::-1]])
