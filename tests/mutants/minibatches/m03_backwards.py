# class: A1
# hint: not-shuffled
import numpy as np


def minibatches(n_examples, batch_size, rng):
    order = np.arange(n_examples)[::-1]
    return [order[i : i + batch_size] for i in range(0, n_examples, batch_size)]
