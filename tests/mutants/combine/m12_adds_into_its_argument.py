# class: B12
# hint: changes-input


def combine(comm, grad_partial, w, step_size):
    if comm.rank != 0:
        comm.send(grad_partial, dst=0)
        return comm.recv(src=0)
    for src in range(1, comm.size):
        grad_partial += comm.recv(src)
    w = w - step_size * grad_partial
    for dst in range(1, comm.size):
        comm.send(w, dst)
    return w
