def what_is_wrong(weights, rows):
    for step, ranks in enumerate(weights.tolist()):
        for w in ranks:
            if w != ranks[0]:
                return "no broadcast" if step == 0 else "no all-reduce"
    seen = set()
    for row in rows.ravel().tolist():
        if row in seen:
            return "other shuffles"
        seen.add(row)
    return "fine"
