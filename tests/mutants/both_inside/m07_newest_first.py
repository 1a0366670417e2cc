# class: C9
# hint: holders-in-order
def both_inside(history):
    inside, found = [], []
    for rank, what in history:
        if what == "takes":
            found += [(other, rank) for other in reversed(inside)]
            inside.append(rank)
        else:
            inside.remove(rank)
    return found
