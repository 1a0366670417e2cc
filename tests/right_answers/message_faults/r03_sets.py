def message_faults(inputs, ranks, sent):
    edges = ((used, node) for node, before in enumerate(inputs) for used in before)
    due = {(u, ranks[u], ranks[k]) for u, k in edges if ranks[u] != ranks[k]}
    seen, needless = set(), []
    for message in map(tuple, sent):
        if message in seen or message not in due:
            needless += [message]
        seen |= {message}
    return {"needless": needless, "missing": sorted(due - seen)}
