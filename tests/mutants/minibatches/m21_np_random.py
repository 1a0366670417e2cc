# class: B17
# hint: not-from-rng
import numpy as np


def minibatches(n_examples, batch_size, rng):
    order = np.random.permutation(n_examples)  # noqa: NPY002
    return [order[i : i + batch_size] for i in range(0, n_examples, batch_size)]
