# class: B15
# hint: too-long
def order_1f1b(rank, ranks, microbatches):
    ahead = min(ranks - 1 - rank, microbatches)
    order = [f"F{m}" for m in range(ahead)]
    for m in range(ahead, microbatches):
        order += [f"B{m - ahead}", f"F{m}"] if ahead else [f"F{m}", f"B{m}"]
    return order + [f"B{m}" for m in range(microbatches - ahead, microbatches)]
