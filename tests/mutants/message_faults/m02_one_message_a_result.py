# class: B10
# hint: each-worker


def message_faults(inputs, ranks, sent):
    needed = set()
    for node, before in enumerate(inputs):
        for used in before:
            if ranks[used] != ranks[node]:
                needed.add((used, ranks[used], ranks[node]))
    first = {}
    needed_in_order = [
        (used, ranks[used], ranks[node])
        for node, before in enumerate(inputs)
        for used in before
        if ranks[used] != ranks[node]
    ]
    for message in needed_in_order:
        first.setdefault(message[0], message)
    needed = set(first.values())
    missing, needless = set(needed), []
    for message in sent:
        if message in missing:
            missing.remove(message)
        else:
            needless.append(message)
    return {"missing": sorted(missing), "needless": needless}
