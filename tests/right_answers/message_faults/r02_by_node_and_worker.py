def message_faults(inputs, ranks, sent):
    missing = []
    for used in range(len(ranks)):
        for goal in sorted(set(ranks)):
            users = [k for k, before in enumerate(inputs) if used in before and ranks[k] == goal]
            message = (used, ranks[used], goal)
            if users and goal != ranks[used] and message not in sent:
                missing.append(message)
    needless = []
    for place, (node, src, dst) in enumerate(sent):
        is_needed = src == ranks[node] != dst and any(
            node in inputs[k] for k in range(len(inputs)) if ranks[k] == dst
        )
        if not is_needed or (node, src, dst) in sent[:place]:
            needless.append((node, src, dst))
    return {"missing": missing, "needless": needless}
