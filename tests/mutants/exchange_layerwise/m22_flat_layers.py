# class: C7
# hint: shape
def exchange_layerwise(comm, backward, allreduce):
    pending = [comm.start(allreduce, gradient.ravel()) for _, gradient in backward(comm)]
    return [exchange.wait() for exchange in pending[::-1]]
