# class: B4
# hint: unknown-action
def order_1f1b(rank, ranks, microbatches):
    forward = [f"F{m}" for m in range(1, microbatches + 1)]
    back = [f"B{m}" for m in range(1, microbatches + 1)]
    ahead = min(ranks - 1 - rank, microbatches)
    order = forward[:ahead]
    for m in range(ahead, microbatches):
        order += [forward[m], back[m - ahead]]
    return order + back[microbatches - ahead :]
