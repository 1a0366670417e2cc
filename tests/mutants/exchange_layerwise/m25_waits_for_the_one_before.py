# class: B15
# hint: too-long
def exchange_layerwise(comm, backward, allreduce):
    sums, before = [], None
    for _, gradient in backward(comm):
        if before is not None:
            sums.append(before.wait())
        before = comm.start(allreduce, gradient)
    sums.append(before.wait())
    return sums[::-1]
