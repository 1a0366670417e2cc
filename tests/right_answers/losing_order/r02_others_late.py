import numpy as np


def losing_order(counts):
    left = [2 * n for n in counts]
    left[0] -= 2
    left[1] -= 2
    order = [2] + [1] * left[0] + [2, 1] + [2] * left[1]
    for core in range(3, len(counts) + 1):
        order += [core] * left[core - 1]
    return np.array([*order, 1])
