# class: B16
# hint: replicas-not-updates
def staleness_of(order):
    last, found = {}, []
    for number, rank in enumerate(order):
        found.append(len(set(order[last.get(rank, -1) + 1 : number])))
        last[rank] = number
    return found
