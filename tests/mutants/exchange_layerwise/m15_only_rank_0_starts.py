# class: B1
# hint: all-must-start
def exchange_layerwise(comm, backward, allreduce):
    gradients = dict(backward(comm))
    if comm.rank == 0:
        pending = {layer: comm.start(allreduce, g) for layer, g in gradients.items()}
        return [pending[layer].wait() for layer in sorted(pending)]
    return [gradients[layer] for layer in sorted(gradients)]
