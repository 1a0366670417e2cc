# class: C9
# hint: order-in-a-pair
def both_inside(history):
    inside, found = [], []
    for rank, what in history:
        if what == "takes":
            found += [(rank, other) for other in inside]
            inside.append(rank)
        else:
            inside.remove(rank)
    return found
