def order_1f1b(rank, ranks, microbatches):
    n = min(ranks - rank, microbatches)
    order = ["F%d" % m for m in range(n)]
    for m in range(microbatches):
        order.append("B%d" % m)
        if m + n < microbatches:
            order.append("F%d" % (m + n))
    return order
