# class: A5
# hint: mean-everywhere
def staleness_of(order):
    return [len(set(order)) - 1] * len(order)
