# class: B1
# hint: old-model-sent


def combine(comm, grad_partial, w, step_size):
    if comm.rank != 0:
        comm.send(grad_partial, dst=0)
        return w.copy()
    total = grad_partial.copy()
    for src in range(1, comm.size):
        total += comm.recv(src)
    return w - step_size * total
