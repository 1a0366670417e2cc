def order_exchanges(ready_s, exchange_s, forward_s):
    n = len(ready_s)

    def search(order, free, over):
        if len(order) == n:
            end = max(ready_s)
            for layer in range(n):
                end = max(end, over[layer]) + forward_s[layer]
            return end, order
        ends = []
        for layer in set(range(n)) - set(order):
            done = max(free, ready_s[layer]) + exchange_s[layer]
            ends.append(search([*order, layer], done, {**over, layer: done}))
        return min(ends)

    end, order = search([], 0.0, {})
    return {"order": order, "seconds": end}
