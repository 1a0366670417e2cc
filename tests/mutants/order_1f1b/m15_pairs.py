# class: C9
# hint: list-of-actions
def order_1f1b(rank, ranks, microbatches):
    ahead = min(ranks - 1 - rank, microbatches)
    order = [("F", m) for m in range(ahead)]
    for m in range(ahead, microbatches):
        order += [("F", m), ("B", m - ahead)]
    return order + [("B", m) for m in range(microbatches - ahead, microbatches)]
