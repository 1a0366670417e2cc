# class: B17
# hint: blocks-shuffled
import numpy as np


def minibatches(n_examples, batch_size, rng):
    order = np.arange(n_examples)
    return [rng.permutation(order[i : i + batch_size]) for i in range(0, n_examples, batch_size)]
