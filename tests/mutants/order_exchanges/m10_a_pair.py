# class: C2
# hint: wrong-names
def order_exchanges(ready_s, exchange_s, forward_s):
    return list(range(len(ready_s))), sum(exchange_s)
