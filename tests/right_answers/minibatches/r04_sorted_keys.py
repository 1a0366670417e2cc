import numpy as np


def minibatches(n_examples, batch_size, rng):
    order = np.argsort(rng.random(n_examples))
    return [order[start:][:batch_size] for start in range(0, n_examples, batch_size)]
