# class: B13
# hint: did-not-wait
def exchange_layerwise(comm, backward, allreduce):
    pending = [comm.start(allreduce, gradient) for _, gradient in backward(comm)]
    return pending[::-1]
