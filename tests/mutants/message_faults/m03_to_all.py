# class: B15
# hint: who-needs-it


def message_faults(inputs, ranks, sent):
    needed = set()
    for node, before in enumerate(inputs):
        for used in before:
            if ranks[used] != ranks[node]:
                for goal in range(max(ranks) + 1):
                    if goal != ranks[used]:
                        needed.add((used, ranks[used], goal))
    missing, needless = set(needed), []
    for message in sent:
        if message in missing:
            missing.remove(message)
        else:
            needless.append(message)
    return {"missing": sorted(missing), "needless": needless}
