# class: B2
# hint: last-is-not-first


def who_is_first(runs, target):
    there = {}
    for name, points in runs.items():
        for point in points:
            if point[-1] <= target:
                there[name] = point
                break
    return {
        clock: max(there, key=lambda name: there[name][number], default=None)
        for number, clock in enumerate(("updates", "seconds", "bytes"))
    }
