def both_inside(history):
    found = []
    for turn, (rank, what) in enumerate(history):
        if what != "takes":
            continue
        before = history[:turn]
        for start, (other, word) in enumerate(before):
            if word == "takes" and (other, "gives back") not in before[start:]:
                found.append((other, rank))
    return found
