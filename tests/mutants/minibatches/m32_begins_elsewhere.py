# class: C6
# hint: kept-together
import numpy as np


def minibatches(n_examples, batch_size, rng):
    order = np.roll(np.arange(n_examples), rng.integers(max(1, n_examples)))
    return [order[i : i + batch_size] for i in range(0, n_examples, batch_size)]
