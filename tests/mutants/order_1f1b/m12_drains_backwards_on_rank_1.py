# class: B9
# hint: other-order
def order_1f1b(rank, ranks, microbatches):
    forward = [f"F{m}" for m in range(microbatches)]
    back = [f"B{m}" for m in range(microbatches)]
    ahead = min(ranks - 1 - rank, microbatches)
    order = forward[:ahead]
    for m in range(ahead, microbatches):
        order += [forward[m], back[m - ahead]]
    left = back[microbatches - ahead :]
    if rank == 1:
        left = left[::-1]
    return order + left
