# class: B11
# hint: same-order


kept = {}


def minibatches(n_examples, batch_size, rng):
    generator = kept.setdefault("state", rng.bit_generator.state)
    rng.bit_generator.state = generator
    order = rng.permutation(n_examples)
    return [order[i : i + batch_size] for i in range(0, n_examples, batch_size)]
