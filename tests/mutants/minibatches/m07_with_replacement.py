# class: B10
# hint: drawn-again


def minibatches(n_examples, batch_size, rng):
    order = rng.integers(0, max(1, n_examples), size=n_examples)
    return [order[i : i + batch_size] for i in range(0, n_examples, batch_size)]
