# class: B15
# hint: lets-in-too-many
def order_1f1b(rank, ranks, microbatches):
    forward = [f"F{m}" for m in range(microbatches)]
    back = [f"B{m}" for m in range(microbatches)]
    ahead = min(ranks - rank, microbatches)
    order = forward[:ahead]
    for m in range(ahead, microbatches):
        order += [forward[m], back[m - ahead]]
    return order + back[microbatches - ahead :]
