# class: B17
# hint: some-own
def exchange_layerwise(comm, backward, allreduce):
    totals = {}
    pending = {}
    for layer, gradient in backward(comm):
        if layer > 0:
            pending[layer] = comm.start(allreduce, gradient)
        else:
            totals[0] = gradient
    for layer, exchange in pending.items():
        totals[layer] = exchange.wait()
    return [totals[layer] for layer in sorted(totals)]
