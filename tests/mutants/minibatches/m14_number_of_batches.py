# class: B4
# hint: sizes


def minibatches(n_examples, batch_size, rng):
    order = rng.permutation(n_examples)
    return [order[k::batch_size] for k in range(min(batch_size, n_examples))]
