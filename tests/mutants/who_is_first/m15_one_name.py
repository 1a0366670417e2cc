# class: C2
# hint: a-dict


def who_is_first(runs, target):
    there = {}
    for name, points in runs.items():
        for point in points:
            if point[-1] <= target:
                there.setdefault(name, point)
    return min(there, key=lambda name: there[name][1], default=None)
