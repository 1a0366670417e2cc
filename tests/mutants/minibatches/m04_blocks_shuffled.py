# class: B17
# hint: blocks-shuffled
import numpy as np


def minibatches(n_examples, batch_size, rng):
    order = np.arange(n_examples)
    parts = [order[i : i + batch_size] for i in range(0, n_examples, batch_size)]
    last = parts[-1:] if n_examples % batch_size else []
    full = parts[: len(parts) - len(last)]
    return [full[k] for k in rng.permutation(len(full))] + last
