# class: B10
# hint: one-for-all
def exchange_layerwise(comm, backward, allreduce):
    n_layers = 0
    for _, gradient in backward(comm):
        pending = comm.start(allreduce, gradient)
        n_layers += 1
    return [pending.wait()] * n_layers
