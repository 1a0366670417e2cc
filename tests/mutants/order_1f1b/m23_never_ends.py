# class: A12
# hint: too-slow
def order_1f1b(rank, ranks, microbatches):
    order, m = [], 0
    while len(order) < 2 * microbatches:
        m += 1
        if m < 0:
            order.append(f"F{m}")
    return order
