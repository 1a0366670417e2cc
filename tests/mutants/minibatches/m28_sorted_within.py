# class: C9
# hint: sorted-again
import numpy as np


def minibatches(n_examples, batch_size, rng):
    order = rng.permutation(n_examples)
    starts = range(0, n_examples, batch_size)
    return [np.sort(order[i : i + batch_size]) for i in starts]
