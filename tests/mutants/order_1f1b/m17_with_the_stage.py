# class: C9
# hint: unknown-action
def order_1f1b(rank, ranks, microbatches):
    forward = [f"{rank}F{m}" for m in range(microbatches)]
    back = [f"{rank}B{m}" for m in range(microbatches)]
    ahead = min(ranks - 1 - rank, microbatches)
    order = forward[:ahead]
    for m in range(ahead, microbatches):
        order += [forward[m], back[m - ahead]]
    return order + back[microbatches - ahead :]
