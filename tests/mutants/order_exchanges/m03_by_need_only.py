# class: B5
# hint: by-need
def order_exchanges(ready_s, exchange_s, forward_s):
    waiting, order, free, over = set(range(len(ready_s))), [], 0, {}
    while waiting:
        free = max(free, min(ready_s[layer] for layer in waiting))
        layer = min(layer for layer in waiting if ready_s[layer] <= free)
        waiting.remove(layer)
        order.append(layer)
        free = over[layer] = free + exchange_s[layer]
    end = max(ready_s)
    for layer, seconds in enumerate(forward_s):
        end = max(end, over[layer]) + seconds
    return {"order": order, "seconds": end}
