# class: C9
# hint: in-order
def both_inside(history):
    inside, found = [], []
    for rank, what in history:
        if what == "takes":
            found += [(other, rank) for other in inside]
            inside.append(rank)
        else:
            inside.remove(rank)
    return sorted(found)
