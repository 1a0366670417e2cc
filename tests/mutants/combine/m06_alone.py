# class: A1
# hint: no-messages


def combine(comm, grad_partial, w, step_size):
    return w - step_size * grad_partial
