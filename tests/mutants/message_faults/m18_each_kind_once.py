# class: B5
# hint: each-copy
def message_faults(inputs, ranks, sent):
    due = {
        (used, ranks[used], ranks[node])
        for node, before in enumerate(inputs)
        for used in before
        if ranks[used] != ranks[node]
    }
    needless = []
    for message in sent:
        if message in due:
            due.discard(message)
        elif message not in needless:
            needless.append(message)
    return {"missing": sorted(due), "needless": needless}
