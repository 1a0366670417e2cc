# class: A1
# hint: no-messages
def weighted_mean(comm, grad, n_examples):
    return grad.copy()
