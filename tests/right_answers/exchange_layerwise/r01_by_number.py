def exchange_layerwise(comm, backward, allreduce):
    pending = {}
    for layer, gradient in backward(comm):
        pending[layer] = comm.start(allreduce, gradient)
    return [pending[layer].wait() for layer in range(len(pending))]
