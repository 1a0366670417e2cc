# class: B17
# hint: partly-shuffled
import numpy as np


def minibatches(n_examples, batch_size, rng):
    half = (n_examples + 1) // 2
    order = np.concatenate([rng.permutation(half), half + rng.permutation(n_examples - half)])
    return [order[start : start + batch_size] for start in range(0, n_examples, batch_size)]
