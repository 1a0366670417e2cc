# class: B4
# hint: first-layer-missing
def exchange_layerwise(comm, backward, allreduce):
    pending = {}
    for layer, gradient in backward(comm):
        if layer > 0:
            pending[layer] = comm.start(allreduce, gradient)
    return [pending[layer].wait() for layer in sorted(pending)]
