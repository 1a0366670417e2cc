# class: B10
# hint: given-only
def lost_or_twice(history):
    losses = [trial for what, _, trial in history if what == "loss"]
    n = 1 + max((trial for _, _, trial in history), default=-1)
    return [
        (trial, "twice" if trial in losses else "lost")
        for trial in range(n)
        if losses.count(trial) != 1
    ]
