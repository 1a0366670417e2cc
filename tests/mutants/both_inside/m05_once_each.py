# class: B10
# hint: each-time
def both_inside(history):
    inside, found = [], []
    for rank, what in history:
        if what == "takes":
            found += [(other, rank) for other in inside]
            inside.append(rank)
        else:
            inside.remove(rank)
    return list(dict.fromkeys(found))
