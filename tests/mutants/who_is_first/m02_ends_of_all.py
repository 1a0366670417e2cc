# class: B15
# hint: not-there


def who_is_first(runs, target):
    there = {}
    for name, points in runs.items():
        there[name] = next((p for p in points if p[-1] <= target), points[-1])
    return {
        clock: min(there, key=lambda name: there[name][number], default=None)
        for number, clock in enumerate(("updates", "seconds", "bytes"))
    }
