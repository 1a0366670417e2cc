# class: C2
# hint: names


def who_is_first(runs, target):
    there = {}
    for name, points in runs.items():
        for point in points:
            if point[-1] <= target:
                there[name] = point
                break
    return {
        clock: min((p[number] for p in there.values()), default=None)
        for number, clock in enumerate(("updates", "seconds", "bytes"))
    }
