# class: B3
# hint: step-size-twice


def combine(comm, grad_partial, w, step_size):
    if comm.rank > 0:
        comm.send(step_size * grad_partial, 0)
        return comm.recv(0)
    total = step_size * grad_partial
    for src in range(1, comm.size):
        total = total + comm.recv(src)
    new = w - step_size * total
    for dst in range(1, comm.size):
        comm.send(new, dst)
    return new
