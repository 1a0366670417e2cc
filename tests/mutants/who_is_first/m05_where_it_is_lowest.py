# class: B15
# hint: first-time


def who_is_first(runs, target):
    there = {}
    for name, points in runs.items():
        lowest = min(points, key=lambda point: point[-1])
        if lowest[-1] <= target:
            there[name] = lowest
    return {
        clock: min(there, key=lambda name: there[name][number], default=None)
        for number, clock in enumerate(("updates", "seconds", "bytes"))
    }
