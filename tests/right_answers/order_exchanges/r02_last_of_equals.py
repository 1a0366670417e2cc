import itertools

import numpy as np


def order_exchanges(ready_s, exchange_s, forward_s):
    def end(order):
        free, over = 0.0, np.zeros(len(order))
        for layer in order:
            free = over[layer] = max(free, ready_s[layer]) + exchange_s[layer]
        over[0] = max(over[0], ready_s[0])
        after = np.cumsum(np.array(forward_s)[::-1])[::-1]
        return (over + after).max()

    orders = list(itertools.permutations(range(len(ready_s))))[::-1]
    best = min(orders, key=lambda order: round(end(order), 9))
    return {"order": np.array(best), "seconds": end(best)}
