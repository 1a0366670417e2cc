# class: C6
# hint: only-cut-edges


def message_faults(inputs, ranks, sent):
    needed = set()
    for node, before in enumerate(inputs):
        for used in before:
            needed.add((used, ranks[used], ranks[node]))
    missing, needless = set(needed), []
    for message in sent:
        if message in missing:
            missing.remove(message)
        else:
            needless.append(message)
    return {"missing": sorted(missing), "needless": needless}
