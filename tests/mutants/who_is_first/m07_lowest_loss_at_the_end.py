# class: B15
# hint: lowest-loss


def who_is_first(runs, target):
    best = min(runs, key=lambda name: runs[name][-1][-1], default=None)
    return dict.fromkeys(("updates", "seconds", "bytes"), best)
