# class: B18
# hint: merged-end


def hidden_seconds(computing, exchanging):
    merged = []
    for begins, ends in exchanging:
        if merged and begins <= merged[-1][1]:
            merged[-1] = (merged[-1][0], ends)
        else:
            merged.append((begins, ends))
    return sum(
        max(0.0, min(end, ends) - max(start, begins))
        for start, end in computing
        for begins, ends in merged
    )
