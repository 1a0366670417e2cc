# class: B10
# hint: drawn-again


def minibatches(n_examples, batch_size, rng):
    sizes = [min(batch_size, n_examples - i) for i in range(0, n_examples, batch_size)]
    return [rng.permutation(n_examples)[:size] for size in sizes]
