# class: C4
# hint: precision
import numpy as np


def exchange_layerwise(comm, backward, allreduce):
    pending = [
        (comm.start(allreduce, gradient.astype(np.float32)), gradient.dtype)
        for _, gradient in backward(comm)
    ]
    return [exchange.wait().astype(dtype) for exchange, dtype in pending[::-1]]
