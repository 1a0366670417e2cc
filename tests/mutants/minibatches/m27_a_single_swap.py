# class: B17
# hint: partly-shuffled
import numpy as np


def minibatches(n_examples, batch_size, rng):
    order = np.arange(n_examples)
    if n_examples > 1:
        half = n_examples // 2
        one, other = rng.integers(half), half + rng.integers(n_examples - half)
        order[[one, other]] = order[[other, one]]
    return [order[start : start + batch_size] for start in range(0, n_examples, batch_size)]
