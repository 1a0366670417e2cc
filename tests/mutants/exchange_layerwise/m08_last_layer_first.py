# class: C9
# hint: reversed
def exchange_layerwise(comm, backward, allreduce):
    pending = [comm.start(allreduce, gradient) for _, gradient in backward(comm)]
    return [exchange.wait() for exchange in pending]
