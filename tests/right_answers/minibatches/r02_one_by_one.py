import numpy as np


def minibatches(n_examples, batch_size, rng):
    left = list(range(n_examples))
    batches = []
    while left:
        batch = []
        while left and len(batch) < batch_size:
            batch.append(left.pop(int(rng.integers(len(left)))))
        batches.append(np.array(batch))
    return batches
