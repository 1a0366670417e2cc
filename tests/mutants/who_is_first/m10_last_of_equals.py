# class: C9
# hint: of-equals


def who_is_first(runs, target):
    there = {}
    for name, points in reversed(runs.items()):
        for point in points:
            if point[-1] <= target:
                there[name] = point
                break
    return {
        clock: min(there, key=lambda name: there[name][number], default=None)
        for number, clock in enumerate(("updates", "seconds", "bytes"))
    }
