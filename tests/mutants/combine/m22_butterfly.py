# class: B14
# hint: too-many-messages


def combine(comm, grad_partial, w, step_size):
    total, distance = grad_partial.copy(), 1
    while distance < comm.size:
        partner = comm.rank ^ distance
        if partner < comm.size:
            total = total + comm.sendrecv(total, dst=partner, src=partner)
        distance *= 2
    return w - step_size * total
