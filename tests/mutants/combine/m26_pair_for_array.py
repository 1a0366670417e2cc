# class: B9
# hint: pair-for-array


def combine(comm, grad_partial, w, step_size):
    if comm.rank != 0:
        comm.send(grad_partial, dst=0)
        return comm.recv(src=0)
    total = grad_partial.copy()
    for _ in range(1, comm.size):
        total = total + comm.recv_any()
    w = w - step_size * total
    for dst in range(1, comm.size):
        comm.send(w, dst)
    return w
