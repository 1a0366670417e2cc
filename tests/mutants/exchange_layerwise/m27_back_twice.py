# class: B15
# hint: computed-twice
def exchange_layerwise(comm, backward, allreduce):
    n_layers = len(list(backward(comm)))
    pending = [None] * n_layers
    for layer, gradient in backward(comm):
        pending[layer] = comm.start(allreduce, gradient)
    return [exchange.wait() for exchange in pending]
