# class: C2
# hint: not-arrays


def minibatches(n_examples, batch_size, rng):
    return rng.permutation(n_examples)
