# class: C6
# hint: not-all-orders
import numpy as np


def minibatches(n_examples, batch_size, rng):
    order = np.arange(n_examples)
    for i in range(n_examples - 1, 1, -1):
        k = rng.integers(i + 1)
        order[i], order[k] = order[k], order[i]
    return [order[i : i + batch_size] for i in range(0, n_examples, batch_size)]
