# class: C2
# hint: not-arrays


def minibatches(n_examples, batch_size, rng):
    order = rng.permutation(n_examples).tolist()
    return [order[i : i + batch_size] for i in range(0, n_examples, batch_size)]
