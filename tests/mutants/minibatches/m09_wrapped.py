# class: B7
# hint: drawn-again
import numpy as np


def minibatches(n_examples, batch_size, rng):
    order = rng.permutation(n_examples)
    return [
        np.take(order, range(i, i + batch_size), mode="wrap")
        for i in range(0, n_examples, batch_size)
    ]
