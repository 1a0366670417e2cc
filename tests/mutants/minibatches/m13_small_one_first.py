# class: B7
# hint: sizes


def minibatches(n_examples, batch_size, rng):
    order = rng.permutation(n_examples)
    rest = n_examples % batch_size
    parts = [order[:rest]] if rest else []
    return parts + [order[i : i + batch_size] for i in range(rest, n_examples, batch_size)]
