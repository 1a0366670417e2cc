# class: B5
# hint: zero-counts
def who_is_first(runs, target):
    found = {}
    for number, clock in enumerate(("updates", "seconds", "bytes")):
        least, first = 0, None
        for name, points in runs.items():
            at = next((point[number] for point in points if point[-1] <= target), None)
            if at is not None and (not least or at < least):
                least, first = at, name
        found[clock] = first
    return found
