# class: B13
# hint: all-to-all


def combine(comm, grad_partial, w, step_size):
    total = grad_partial.copy()
    for step in range(1, comm.size):
        src = (comm.rank - step) % comm.size
        total += comm.sendrecv(grad_partial, dst=(comm.rank + step) % comm.size, src=src)
    return w - step_size * total
