# class: B7
# hint: order
def message_faults(inputs, ranks, sent):
    due = {
        (used, ranks[used], ranks[node]): True
        for node, before in enumerate(inputs)
        for used in before
        if ranks[used] != ranks[node]
    }
    needless = []
    for message in sent:
        if message in due:
            del due[message]
        else:
            needless.append(message)
    return {"missing": list(due), "needless": needless}
