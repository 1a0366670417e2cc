# class: B4
# hint: generator


def minibatches(n_examples, batch_size, rng):
    order = rng.permutation(n_examples)
    for i in range(0, n_examples, batch_size):
        yield order[i : i + batch_size - 1]
