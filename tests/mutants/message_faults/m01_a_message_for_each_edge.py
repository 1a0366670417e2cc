# class: B10
# hint: once-a-worker


def message_faults(inputs, ranks, sent):
    needed = []
    for node, before in enumerate(inputs):
        for used in before:
            if ranks[used] != ranks[node]:
                needed.append((used, ranks[used], ranks[node]))
    missing, needless = list(needed), []
    for message in sent:
        if message in missing:
            missing.remove(message)
        else:
            needless.append(message)
    return {"missing": sorted(missing), "needless": needless}
