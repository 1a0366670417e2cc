# class: C9
# hint: places
import itertools


def order_exchanges(ready_s, exchange_s, forward_s):
    def end(order):
        free, over = 0, {}
        for layer in order:
            free = over[layer] = max(free, ready_s[layer]) + exchange_s[layer]
        at = max(ready_s)
        for layer, seconds in enumerate(forward_s):
            at = max(at, over[layer]) + seconds
        return at

    best = min(itertools.permutations(range(len(ready_s))), key=end)
    return {"order": [best.index(layer) for layer in range(len(best))], "seconds": end(best)}
