# class: B17
# hint: partly-shuffled
import numpy as np


def minibatches(n_examples, batch_size, rng):
    order = np.arange(n_examples)
    if n_examples > 1:
        one, other = rng.integers(n_examples, size=2)
        order[[one, other]] = order[[other, one]]
    return [order[start : start + batch_size] for start in range(0, n_examples, batch_size)]
