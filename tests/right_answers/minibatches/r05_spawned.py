def minibatches(n_examples, batch_size, rng):
    order = rng.spawn(1)[0].permutation(n_examples)
    return [order[i : i + batch_size] for i in range(0, n_examples, batch_size)]
