import numpy as np


def minibatches(n_examples, batch_size, rng):
    order = np.arange(n_examples, dtype=np.uint32)
    rng.shuffle(order)
    cuts = range(batch_size, n_examples, batch_size)
    return np.split(order, cuts) if n_examples else []
