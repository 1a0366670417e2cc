import numpy as np


def counter_after(order):
    loaded = np.full(1 + max(order, default=0), -1)
    counter = np.int64(0)
    for core in order:
        if loaded[core] < 0:
            loaded[core] = counter
        else:
            counter, loaded[core] = loaded[core] + 1, -1
    return counter
