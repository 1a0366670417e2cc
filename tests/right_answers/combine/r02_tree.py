def combine(comm, grad_partial, w, step_size):
    total, distance = grad_partial.copy(), 1
    children = []
    while distance < comm.size and comm.rank % (2 * distance) == 0:
        if comm.rank + distance < comm.size:
            total += comm.recv(comm.rank + distance)
            children.append(comm.rank + distance)
        distance *= 2
    if comm.rank == 0:
        model = w - step_size * total
    else:
        comm.send(total, comm.rank - distance)
        model = comm.recv(comm.rank - distance)
    for child in reversed(children):
        comm.send(model, child)
    return model
