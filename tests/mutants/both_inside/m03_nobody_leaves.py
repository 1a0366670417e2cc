# class: B11
# hint: who-has-left
def both_inside(history):
    inside, found = [], []
    for rank, what in history:
        if what == "takes":
            found += [(other, rank) for other in inside if other != rank]
            if rank not in inside:
                inside.append(rank)
    return found
