def applied_twice(history):
    once, twice, made = set(), {}, 0
    for rank, number, version in history:
        push = rank, number
        if version == made:
            continue
        made = version
        if push in once:
            twice.setdefault(push, len(twice))
        once.add(push)
    return tuple(twice)
