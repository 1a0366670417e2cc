# class: A1
# hint: prints-only
def staleness_of(order):
    last, found = {}, []
    for number, rank in enumerate(order):
        found.append(number - last.get(rank, -1) - 1)
        last[rank] = number
    print(found)
