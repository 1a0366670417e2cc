# class: B15
# hint: too-long
def exchange_layerwise(comm, backward, allreduce):
    totals, waiting = [], None
    for _, gradient in backward(comm):
        if waiting is not None:
            totals.append(allreduce(comm, waiting))
        waiting = gradient
    totals.append(allreduce(comm, waiting))
    return totals[::-1]
