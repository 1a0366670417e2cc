# class: C8
# hint: used-up
from itertools import permutations


def order_exchanges(ready_s, exchange_s, forward_s):
    def end(order):
        free, over = 0.0, {}
        for layer in order:
            free = over[layer] = max(free, ready_s[layer]) + exchange_s[layer]
        at = max(ready_s)
        for layer, seconds in enumerate(forward_s):
            at = max(at, over[layer]) + seconds
        return at

    orders = permutations(range(len(ready_s)))
    least = min(map(end, orders))
    best = [order for order in orders if end(order) == least]
    return {"order": list(best[0]), "seconds": least}
