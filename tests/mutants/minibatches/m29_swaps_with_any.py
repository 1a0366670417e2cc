# class: C6
# hint: not-all-orders
import numpy as np


def minibatches(n_examples, batch_size, rng):
    order = list(range(n_examples))
    for i, k in enumerate(rng.integers(max(1, n_examples), size=n_examples)):
        order[i], order[k] = order[k], order[i]
    return [np.array(order[i : i + batch_size]) for i in range(0, n_examples, batch_size)]
