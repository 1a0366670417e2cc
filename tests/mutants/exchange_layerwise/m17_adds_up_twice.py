# class: B3
# hint: summed-twice
def exchange_layerwise(comm, backward, allreduce):
    def twice(child, gradient):
        return allreduce(child, allreduce(child, gradient))

    pending = [comm.start(twice, gradient) for _, gradient in backward(comm)]
    return [exchange.wait() for exchange in pending[::-1]]
