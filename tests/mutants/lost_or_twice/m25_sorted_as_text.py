# class: C9
# hint: order
def lost_or_twice(history):
    given = [trial for what, _, trial in history if what == "given"]
    losses = [trial for what, _, trial in history if what == "loss"]
    found = []
    for trial in sorted(set(given), key=str):
        if trial not in losses:
            found.append((trial, "lost"))
        elif losses.count(trial) > 1:
            found.append((trial, "twice"))
    return found
