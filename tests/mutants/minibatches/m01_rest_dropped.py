# class: B7
# hint: examples-lost


def minibatches(n_examples, batch_size, rng):
    order = rng.permutation(n_examples)
    whole = n_examples // batch_size * batch_size
    return [order[i : i + batch_size] for i in range(0, whole, batch_size)]
