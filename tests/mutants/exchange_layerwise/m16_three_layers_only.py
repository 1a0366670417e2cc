# class: B5
# hint: none-value
def exchange_layerwise(comm, backward, allreduce):
    pending = [None] * 3
    for layer, gradient in backward(comm):
        pending[layer] = comm.start(allreduce, gradient)
    return [exchange.wait() for exchange in pending]
