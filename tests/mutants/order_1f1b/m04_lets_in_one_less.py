# class: B15
# hint: too-long
def order_1f1b(rank, ranks, microbatches):
    forward = [f"F{m}" for m in range(microbatches)]
    back = [f"B{m}" for m in range(microbatches)]
    ahead = min(max(ranks - 2 - rank, 0), microbatches)
    order = forward[:ahead]
    for m in range(ahead, microbatches):
        order += [forward[m], back[m - ahead]]
    return order + back[microbatches - ahead :]
