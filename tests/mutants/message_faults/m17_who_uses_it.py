# class: B4
# hint: what-is-used
def message_faults(inputs, ranks, sent):
    due = {
        (node, ranks[used], ranks[node])
        for node, before in enumerate(inputs)
        for used in before
        if ranks[used] != ranks[node]
    }
    needless = []
    for message in sent:
        if message in due:
            due.discard(message)
        else:
            needless.append(message)
    return {"missing": sorted(due), "needless": needless}
