def combine(comm, grad_partial, w, step_size):
    last = comm.size - 1
    total = grad_partial.copy()
    if comm.rank < last:
        comm.recv(comm.rank + 1, out=total, op="sum")
    if comm.rank > 0:
        comm.send(total, comm.rank - 1)
        model = comm.recv(comm.rank - 1)
    else:
        model = w - step_size * total
    if comm.rank < last:
        comm.send(model, comm.rank + 1)
    return model
