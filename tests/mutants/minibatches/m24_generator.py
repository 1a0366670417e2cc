# class: C2
# hint: generator
def minibatches(n_examples, batch_size, rng):
    order = rng.choice(n_examples, size=n_examples, replace=False) if n_examples else []
    for start in range(0, n_examples, batch_size):
        yield order[start : start + batch_size]
