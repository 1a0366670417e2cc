# class: B4
# hint: outside


def minibatches(n_examples, batch_size, rng):
    order = rng.permutation(n_examples) + 1
    return [order[i : i + batch_size] for i in range(0, n_examples, batch_size)]
