# class: B13
# hint: late-binding
def exchange_layerwise(comm, backward, allreduce):
    pending = []
    for _, gradient in backward(comm):
        pending.append(comm.start(lambda child: allreduce(child, gradient)))  # noqa: B023
    return [exchange.wait() for exchange in reversed(pending)]
