from collections import Counter


def message_faults(inputs, ranks, sent):
    due = Counter()
    for node, before in enumerate(inputs):
        for used in before:
            due[used, ranks[used], ranks[node]] = int(ranks[used] != ranks[node])
    needless = []
    for message in sent:
        due[message] -= 1
        if due[message] < 0:
            needless.append(message)
    return {"missing": sorted(m for m, n in due.items() if n > 0), "needless": needless}
