# class: B3
# hint: mean
def exchange_layerwise(comm, backward, allreduce):
    pending = [comm.start(allreduce, gradient) for _, gradient in backward(comm)]
    return [exchange.wait() / comm.size for exchange in pending[::-1]]
