def who_is_first(runs, target):
    found = [
        (name, point)
        for name, points in runs.items()
        if (point := next((p for p in points if p[-1] <= target), None))
    ]
    first = {"updates": None, "seconds": None, "bytes": None}
    for k, clock in enumerate(first):
        ordered = sorted(found, key=lambda pair: pair[1][k])
        if ordered:
            first[clock] = ordered[0][0]
    return first
