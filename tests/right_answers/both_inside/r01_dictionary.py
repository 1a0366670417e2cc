def both_inside(history):
    since, found = {}, []
    for turn, (rank, what) in enumerate(history):
        if what == "gives back":
            del since[rank]
        else:
            found.extend((other, rank) for other in sorted(since, key=since.get))
            since[rank] = turn
    return found
