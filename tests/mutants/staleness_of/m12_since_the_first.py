# class: B4
# hint: first-of-many
def staleness_of(order):
    found = []
    for number, rank in enumerate(order):
        first = order.index(rank)
        found.append(number - first - 1 if first < number else number)
    return found
