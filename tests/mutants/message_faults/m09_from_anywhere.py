# class: B9
# hint: from-where


def message_faults(inputs, ranks, sent):
    needed = {
        (used, ranks[node]): (used, ranks[used], ranks[node])
        for node, before in enumerate(inputs)
        for used in before
        if ranks[used] != ranks[node]
    }
    needless = []
    for node, src, dst in sent:
        if needed.pop((node, dst), None) is None:
            needless.append((node, src, dst))
    return {"missing": sorted(needed.values()), "needless": needless}
