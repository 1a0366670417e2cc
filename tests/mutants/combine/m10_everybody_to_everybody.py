# class: B15
# hint: all-to-all


def combine(comm, grad_partial, w, step_size):
    parts = {comm.rank: grad_partial}
    for step in range(1, comm.size):
        src = (comm.rank - step) % comm.size
        parts[src] = comm.sendrecv(grad_partial, dst=(comm.rank + step) % comm.size, src=src)
    total = sum(parts[rank] for rank in range(comm.size))
    return w - step_size * total
