import itertools


def order_exchanges(ready_s, exchange_s, forward_s):
    best = None
    for order in itertools.permutations(range(len(ready_s))):
        free, over = 0.0, [0.0] * len(order)
        for layer in order:
            start = max(free, ready_s[layer])
            free = start + exchange_s[layer]
            over[layer] = free
        end = max(ready_s)
        for arrived, seconds in zip(over, forward_s, strict=True):
            end = max(end, arrived) + seconds
        if best is None or end < best[0]:
            best = end, order
    return {"order": list(best[1]), "seconds": best[0]}
