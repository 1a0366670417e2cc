# class: B15
# hint: too-long
def order_1f1b(rank, ranks, microbatches):
    return [f"{kind}{m}" for m in range(microbatches) for kind in "FB"]
