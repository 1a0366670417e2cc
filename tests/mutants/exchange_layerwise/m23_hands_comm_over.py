# class: C2
# hint: start-arguments
def exchange_layerwise(comm, backward, allreduce):
    pending = [comm.start(allreduce, comm, gradient) for _, gradient in backward(comm)]
    return [exchange.wait() for exchange in reversed(pending)]
