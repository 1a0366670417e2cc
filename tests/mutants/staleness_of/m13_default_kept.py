# class: B11
# hint: stale
def staleness_of(order, last={}, found=[]):  # noqa: B006
    for number, rank in enumerate(order):
        found.append(number - last.get(rank, -1) - 1)
        last[rank] = number
    return found
