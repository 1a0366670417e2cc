# class: B15
# hint: as-gpipe
def order_1f1b(rank, ranks, microbatches):
    return [f"{kind}{m}" for kind in "FB" for m in range(microbatches)]
