# class: B15
# hint: too-long
def exchange_layerwise(comm, backward, allreduce):
    totals = []
    for _, gradient in backward(comm):
        totals.insert(0, comm.start(allreduce, gradient).wait())
    return totals
