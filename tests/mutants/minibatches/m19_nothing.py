# class: A1
# hint: returns-none


def minibatches(n_examples, batch_size, rng):
    return None
