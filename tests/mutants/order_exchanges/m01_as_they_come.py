# class: B4
# hint: as-they-come
def order_exchanges(ready_s, exchange_s, forward_s):
    order, free, over = list(reversed(range(len(ready_s)))), 0, {}
    for layer in order:
        free = over[layer] = max(free, ready_s[layer]) + exchange_s[layer]
    end = max(ready_s)
    for layer, seconds in enumerate(forward_s):
        end = max(end, over[layer]) + seconds
    return {"order": order, "seconds": end}
