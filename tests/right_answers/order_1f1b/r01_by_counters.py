def order_1f1b(rank, ranks, microbatches):
    order, forward, back = [], 0, 0
    while back < microbatches:
        if forward < microbatches and forward - back < ranks - rank:
            order.append(f"F{forward}")
            forward += 1
        else:
            order.append(f"B{back}")
            back += 1
    return order
