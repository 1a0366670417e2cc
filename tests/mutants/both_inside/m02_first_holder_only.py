# class: B10
# hint: one-holder
def both_inside(history):
    inside, found = [], []
    for rank, what in history:
        if what == "takes":
            found += [(other, rank) for other in inside[:1]]
            inside.append(rank)
        else:
            inside.remove(rank)
    return found
