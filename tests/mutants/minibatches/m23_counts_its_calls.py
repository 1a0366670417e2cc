# class: A10
# hint: not-from-rng
import itertools

import numpy as np

calls = itertools.count()


def minibatches(n_examples, batch_size, rng):
    order = np.random.default_rng(next(calls) % 2).permutation(n_examples)
    return [order[i : i + batch_size] for i in range(0, n_examples, batch_size)]
