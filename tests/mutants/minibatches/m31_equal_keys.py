# class: C6
# hint: not-all-orders
import numpy as np


def minibatches(n_examples, batch_size, rng):
    keys = rng.integers(max(1, n_examples // 2), size=n_examples)
    order = np.argsort(keys, kind="stable")
    return [order[i : i + batch_size] for i in range(0, n_examples, batch_size)]
