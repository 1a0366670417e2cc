# class: B9
# hint: first-time


def who_is_first(runs, target):
    there = {}
    for name, points in runs.items():
        above = [k for k, point in enumerate(points) if point[-1] > target]
        k = above[-1] + 1 if above else 0
        if k < len(points):
            there[name] = points[k]
    return {
        clock: min(there, key=lambda name: there[name][number], default=None)
        for number, clock in enumerate(("updates", "seconds", "bytes"))
    }
