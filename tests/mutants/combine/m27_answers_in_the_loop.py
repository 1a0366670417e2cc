# class: B13
# hint: answers-early
def combine(comm, grad_partial, w, step_size):
    if comm.rank > 0:
        comm.send(grad_partial, 0)
        return comm.recv(0)
    total = grad_partial.copy()
    for src in range(1, comm.size):
        total += comm.recv(src)
        comm.send(w - step_size * total, src)
    return w - step_size * total
