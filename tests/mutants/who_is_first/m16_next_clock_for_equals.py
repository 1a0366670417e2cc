# class: C9
# hint: of-equals
def who_is_first(runs, target):
    there = {}
    for name, points in runs.items():
        reached = [point for point in points if point[-1] <= target]
        if reached:
            there[name] = reached[0]
    return {
        clock: min(there, key=lambda name: (there[name][number], there[name]), default=None)
        for number, clock in enumerate(("updates", "seconds", "bytes"))
    }
