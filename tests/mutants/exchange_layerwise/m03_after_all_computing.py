# class: B15
# hint: too-long
def exchange_layerwise(comm, backward, allreduce):
    gradients = list(backward(comm))
    pending = [comm.start(allreduce, gradient) for _, gradient in gradients]
    return [exchange.wait() for exchange in pending[::-1]]
