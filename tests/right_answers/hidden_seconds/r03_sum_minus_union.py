import numpy as np


def length(spans):
    total, reached = 0.0, -np.inf
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def hidden_seconds(computing, exchanging):
    return length(computing) + length(exchanging) - length([*computing, *exchanging])
