# class: B7
# hint: sizes
import numpy as np


def minibatches(n_examples, batch_size, rng):
    order = rng.permutation(n_examples)
    n_batches = -(-n_examples // batch_size)
    return np.array_split(order, n_batches) if n_batches else []
