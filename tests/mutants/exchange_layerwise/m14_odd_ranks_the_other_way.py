# class: B9
# hint: other-order
def exchange_layerwise(comm, backward, allreduce):
    gradients = list(backward(comm))
    if comm.rank % 2:
        gradients.reverse()
    pending = {layer: comm.start(allreduce, gradient) for layer, gradient in gradients}
    return [pending[layer].wait() for layer in sorted(pending)]
