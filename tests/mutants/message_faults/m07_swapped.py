# class: C6
# hint: swapped


def message_faults(inputs, ranks, sent):
    needed = set()
    for node, before in enumerate(inputs):
        for used in before:
            if ranks[used] != ranks[node]:
                needed.add((used, ranks[used], ranks[node]))
    missing, needless = set(needed), []
    for message in sent:
        if message in missing:
            missing.remove(message)
        else:
            needless.append(message)
    return {"missing": needless, "needless": sorted(missing)}
