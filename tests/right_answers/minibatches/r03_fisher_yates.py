import numpy as np


def minibatches(n_examples, batch_size, rng):
    order = list(range(n_examples))
    for last in range(n_examples - 1, 0, -1):
        other = int(rng.integers(last + 1))
        order[last], order[other] = order[other], order[last]
    batches = []
    while order:
        batches.append(np.array(order[:batch_size]))
        del order[:batch_size]
    return batches
