def exchange_layerwise(comm, backward, allreduce):
    def in_turn(child, before, gradient):
        if before is not None:
            before.wait()
        gradient[...] = allreduce(child, gradient)

    gradients, before = [], None
    for _, gradient in backward(comm):
        before = comm.start(in_turn, before, gradient)
        gradients.insert(0, gradient)
    if before is not None:
        before.wait()
    return gradients
