# class: B5
# hint: sends-to-itself
def combine(comm, grad_partial, w, step_size):
    if comm.rank > 0:
        comm.send(grad_partial, 0)
        return comm.recv(0)
    total = sum((comm.recv(src) for src in range(1, comm.size)), start=grad_partial.copy())
    for dst in range(comm.size):
        comm.send(w - step_size * total, dst)
    return w - step_size * total
