# class: B4
# hint: empty-batch


def minibatches(n_examples, batch_size, rng):
    order = rng.permutation(n_examples)
    n_batches = n_examples // batch_size + 1
    return [order[k * batch_size : (k + 1) * batch_size] for k in range(n_batches)]
