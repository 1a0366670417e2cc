# class: B1
# hint: result-dropped
def combine(comm, grad_partial, w, step_size):
    if comm.rank > 0:
        comm.send(grad_partial, 0)
        return comm.recv(0)
    total = sum((comm.recv(src) for src in range(1, comm.size)), start=grad_partial.copy())
    w - step_size * total
    for dst in range(1, comm.size):
        comm.send(w, dst)
    return w.copy()
