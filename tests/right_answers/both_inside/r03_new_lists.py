def both_inside(history):
    inside, found = (), []
    for rank, what in history:
        if what == "takes":
            for other in inside:
                found.append([other, rank])
            inside = (*inside, rank)
        else:
            inside = tuple(other for other in inside if other != rank)
    return found
