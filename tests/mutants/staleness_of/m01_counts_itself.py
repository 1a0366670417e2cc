# class: B4
# hint: counts-itself
def staleness_of(order):
    last, found = {}, []
    for number, rank in enumerate(order):
        found.append(number - last.get(rank, -1))
        last[rank] = number
    return found
