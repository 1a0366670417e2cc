# class: B1
# hint: result-dropped
def exchange_layerwise(comm, backward, allreduce):
    gradients, pending = [], []
    for _, gradient in backward(comm):
        gradients.append(gradient)
        pending.append(comm.start(allreduce, gradient))
    for exchange in pending:
        exchange.wait()
    return gradients[::-1]
