# class: A5
# hint: unknown-action
def order_1f1b(rank, ranks, microbatches):
    ahead = max(3 - rank, 0)
    order = [f"F{m}" for m in range(ahead)]
    for m in range(ahead, 8):
        order += [f"F{m}", f"B{m - ahead}"]
    return order + [f"B{m}" for m in range(8 - ahead, 8)]
