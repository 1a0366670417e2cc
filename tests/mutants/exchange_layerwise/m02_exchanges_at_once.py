# class: B15
# hint: too-long
def exchange_layerwise(comm, backward, allreduce):
    totals = {}
    for layer, gradient in backward(comm):
        totals[layer] = allreduce(comm, gradient)
    return [totals[layer] for layer in sorted(totals)]
