# class: B5
# hint: twice
def order_1f1b(rank, ranks, microbatches):
    ahead = ranks - 1 - rank
    order = [f"F{m % microbatches}" for m in range(ahead)]
    for m in range(ahead, microbatches):
        order += [f"F{m}", f"B{m - ahead}"]
    return order + [f"B{m}" for m in range(max(0, microbatches - ahead), microbatches)]
