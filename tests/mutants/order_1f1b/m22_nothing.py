# class: A1
# hint: returns-none
def order_1f1b(rank, ranks, microbatches):
    order = []
    for m in range(microbatches):
        order += [f"F{m}", f"B{m}"]
