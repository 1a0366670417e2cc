def order_1f1b(rank, ranks, microbatches):
    n = min(ranks - rank, microbatches)
    order = [f"F{m}" for m in range(n)]
    for m in range(microbatches):
        order.append(f"B{m}")
        if m + n < microbatches:
            order.append(f"F{m + n}")
    return order
