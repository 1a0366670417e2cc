# class: B17
# hint: kept-together
import numpy as np


def minibatches(n_examples, batch_size, rng):
    pairs = rng.permutation((n_examples + 1) // 2)
    order = np.array([i for pair in pairs for i in (2 * pair, 2 * pair + 1) if i < n_examples], int)
    return [order[start : start + batch_size] for start in range(0, n_examples, batch_size)]
