# class: B11
# hint: first-push
def staleness_of(order):
    last, found = {}, []
    for number, rank in enumerate(order):
        found.append(number - last.get(rank, number - 1) - 1)
        last[rank] = number
    return found
