# class: B15
# hint: too-many-messages
def exchange_layerwise(comm, backward, allreduce):
    pending = []
    for _, gradient in backward(comm):
        comm.start(allreduce, gradient)
        pending.append(comm.start(allreduce, gradient))
    return [exchange.wait() for exchange in pending[::-1]]
